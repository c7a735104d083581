// name: maintenance/check/routing/double_edges
// purpose: routers with two current edges to one client
// parameters: limit
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0
  RETURN d.number AS last ORDER BY d.number DESC LIMIT 1
}
MATCH (r:Router)
WHERE r.number >= 0
CALL (r, last) {
  MATCH (r)-[e:ROUTES_TO]->(c:Client)
  WHERE e.closed IS NULL AND e.opened + 0 <= last
  WITH c.ref AS ref, count(e) AS edges
  WHERE edges > 1
  RETURN ref
}
RETURN r.number, ref LIMIT $limit
