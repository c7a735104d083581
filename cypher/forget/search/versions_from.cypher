// name: forget/search/versions_from
// purpose: the next versions of clients' texts, from a given one on, at most `limit` of each client: the columns of reason/texts/current_texts, whether a withdrawal rewrote the version, and whether it is the current one
// parameters: searches, limit
UNWIND $searches AS search
CALL (search) {
  MATCH (p:ProfileVersion)
  WHERE p.ref = search[0] AND p.version >= search[1]
  RETURN p ORDER BY p.ref, p.version LIMIT $limit
}
RETURN collect([p.ref, p.version, p.next_id, p.watermark, p.dropped, p.line_ids, p.line_texts, p.line_weights, p.line_authors,
  p.attribute_lines, p.attributes, p.source_lines, p.source_sequences, p.source_routers, p.source_versions, p.rules,
  p.rewritten IS NOT NULL, EXISTS { MATCH (c:Client {ref: p.ref}) WHERE c.version = p.version }])
