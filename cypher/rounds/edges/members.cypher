// name: rounds/edges/members
// purpose: the edges of a router that are current, or were at a sequence, by score, as columns; an edge of the newest round that lacks its sequence gets the round's
// parameters: router, limit, at
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0 AND ($at IS NULL OR d.sequence <= $at)
  RETURN d.number AS last, d.sequence AS published ORDER BY d.number DESC LIMIT 1
}
MATCH (r:Router {number: $router})-[e:ROUTES_TO]->(c:Client)
WHERE e.opened + 0 <= last AND (e.closed IS NULL OR e.closed + 0 > last)
WITH c.ref AS ref, e.score AS score, coalesce(e.from, published) AS from ORDER BY score DESC, ref LIMIT $limit
RETURN collect(ref), collect(score), collect(from)
