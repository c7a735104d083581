// name: record/events/link_negatives
// purpose: link the negatives that callers named: (interaction)-[AGAINST]->(item)
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
CALL (row, i) {
  MATCH (c:Client {ref: row[1]})
  CREATE (i)-[:AGAINST]->(c)
}
