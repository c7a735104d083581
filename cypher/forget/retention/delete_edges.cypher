// name: forget/retention/delete_edges
// purpose: delete a batch of edges that closed at or before a sequence, except a client's first one; returns how many. Edges that a finished run kept stay
// parameters: before, limit
MATCH (r:Progress {name: 'retention'})
WITH coalesce(r.edges, 0) AS passed
MATCH (d:Round)
WHERE d.number > passed AND d.sequence <= $before
MATCH ()-[e:ROUTES_TO]->(c:Client)
WHERE e.closed = d.number AND e.router >= 0
  AND e.opened > head(COLLECT { MATCH (c)<-[f:ROUTES_TO]-() RETURN f.opened ORDER BY f.opened LIMIT 1 })
WITH e LIMIT $limit
DELETE e
RETURN count(*)
