// name: rounds/stage_brought
// purpose: which profile versions brought it: (profile version)-[BROUGHT]->(attribute)
// parameters: rows
UNWIND $rows AS row
MATCH (p:ProfileVersion {ref: row[3], version: row[4]})
CALL (row, p) {
  MATCH (a:Attribute {name: row[2]})
  CREATE (p)-[:BROUGHT {router: row[0], version: row[1], sequence: row[5]}]->(a)
}
