// name: rounds/staging/close_edges
// purpose: close the current edges from some routers to each client
// parameters: round, rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
WITH c, row
MATCH (c)<-[e:ROUTES_TO]-()
WHERE e.router IN row[1] AND e.opened + 0 < $round AND e.closed IS NULL
SET e.closed = $round
