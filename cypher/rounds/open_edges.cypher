// name: rounds/open_edges
// purpose: open edges
// parameters: round, rows
UNWIND $rows AS row
MATCH (r:Router {number: row[0]})
CALL (row, r) {
  MATCH (c:Client {ref: row[1]})
  CREATE (r)-[:ROUTES_TO {router: row[0], score: row[2], opened: $round}]->(c)
}
