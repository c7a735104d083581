// name: rounds/evolution/create_lineage
// purpose: create the lineage of routers: (router)-[EVOLVED_INTO]->(router)
// parameters: rows
UNWIND $rows AS row
MATCH (before:Router {number: row[1]})
CALL (row, before) {
  MATCH (after:Router {number: row[2]})
  CREATE (before)-[:EVOLVED_INTO {run: row[0], kind: row[3]}]->(after)
}
