// name: rounds/edges/current_edges_of_routers
// purpose: all current edges of some routers, as columns; an edge of the newest round that lacks its sequence gets the round's
// parameters: routers
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0
  RETURN d.number AS last, d.sequence AS published ORDER BY d.number DESC LIMIT 1
}
UNWIND $routers AS number
MATCH (r:Router {number: number})-[e:ROUTES_TO]->(c:Client)
WHERE e.opened + 0 <= last AND (e.closed IS NULL OR e.closed + 0 > last)
RETURN collect(number), collect(c.ref), collect(e.score), collect(coalesce(e.from, published))
