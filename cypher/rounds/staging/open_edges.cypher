// name: rounds/staging/open_edges
// purpose: open edges to each client, each given as a place in the list of routers and a score
// parameters: round, routers, rows
UNWIND $routers AS number
MATCH (r:Router {number: number})
WITH r ORDER BY r.number
WITH collect(r) AS routers
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
UNWIND row[1] AS edge
WITH c, edge, routers[edge[0]] AS r
CREATE (r)-[:ROUTES_TO {router: $routers[edge[0]], score: edge[1], opened: $round}]->(c)
