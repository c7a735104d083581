// name: maintenance/check/routing/missing_edges
// purpose: rounds with more or fewer stored edges than they should have: [edges that should be stored, round, edges that are]
// parameters: limit
MATCH (d:Round)
WHERE d.number > 0 AND d.edges IS NOT NULL
WITH d, COUNT { MATCH ()-[e:ROUTES_TO]->() WHERE e.opened = d.number AND e.router >= 0 } AS stored
WHERE stored <> d.edges
RETURN d.edges, d.number, stored LIMIT $limit
