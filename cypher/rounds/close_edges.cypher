// name: rounds/close_edges
// purpose: close standing edges, by router and client
// parameters: round, rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[1]})
WITH c, row
MATCH (c)<-[e:ROUTES_TO]-()
WHERE e.router = row[0] AND e.opened + 0 < $round AND e.closed IS NULL
SET e.closed = $round
