// name: forget/retention/closed_edges
// purpose: edges that closed at or before a sequence, except those that a finished run checked: [ref, router, round that closed it, whether the client has no edge of an earlier round, number of the newest round up to the sequence]
// parameters: before
MATCH (r:Progress {name: 'retention'})
WITH coalesce(r.edges, 0) AS passed
MATCH (d:Round)
WHERE d.number > passed AND d.sequence <= $before
WITH collect(d.number) AS rounds, max(d.number) AS last
UNWIND rounds AS number
MATCH ()-[e:ROUTES_TO]->(c:Client)
WHERE e.closed = number AND e.router >= 0
RETURN c.ref, e.router, e.closed,
       e.opened <= head(COLLECT { MATCH (c)<-[f:ROUTES_TO]-() RETURN f.opened ORDER BY f.opened LIMIT 1 }),
       last
