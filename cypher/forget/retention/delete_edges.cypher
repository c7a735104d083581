// name: forget/retention/delete_edges
// purpose: drop edges that were closed at or before a sequence, but a client's first one, some a call; how many. What stayed of a run that ended stays
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
