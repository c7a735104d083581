// name: forget/search/remaining_senders
// purpose: some of the other clients that contributed these attributes to these messages
// parameters: rows, refs, sequences, limit
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})
CALL (m, row) {
  MATCH (a:Attribute {name: row[2]})
  MATCH (a)-[t:INTEGRATED_INTO]->(m)
  WHERE NOT (t.ref IN $refs AND ($sequences IS NULL OR t.sequence IN $sequences))
  WITH DISTINCT t.ref AS ref ORDER BY ref LIMIT $limit
  RETURN collect(ref) AS left
}
RETURN row[0], row[1], row[2], left
