// name: rounds/edges/current_edges_of_clients
// purpose: the current edges of clients, as columns; an edge of the newest round that lacks its sequence gets the round's
// parameters: refs
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0
  RETURN d.number AS last, d.sequence AS published ORDER BY d.number DESC LIMIT 1
}
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
MATCH (c)<-[e:ROUTES_TO]-()
WHERE e.opened + 0 <= last AND (e.closed IS NULL OR e.closed + 0 > last)
WITH ref, e, published ORDER BY e.score DESC, e.router
RETURN collect(ref), collect(e.router), collect(e.score), collect(coalesce(e.from, published))
