// name: forget/search/versions_from
// purpose: the next versions of clients' texts, from a given one on, at most `limit` of each client: [ref, version, next_id, watermark, dropped, whether a withdrawal rewrote the version, whether it is the current one, body]
// parameters: searches, limit
UNWIND $searches AS search
OPTIONAL MATCH (c:Client {ref: search[0]})
WITH search, c.version AS current
CALL (search) {
  MATCH (p:ProfileVersion)
  WHERE p.ref = search[0] AND p.version >= search[1]
  RETURN p ORDER BY p.ref, p.version LIMIT $limit
}
RETURN collect([p.ref, p.version, p.next_id, p.watermark, p.dropped, p.rewritten IS NOT NULL, coalesce(p.version = current, false), p.body])
