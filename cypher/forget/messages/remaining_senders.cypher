// name: forget/messages/remaining_senders
// purpose: some of the remaining senders of attributes of messages, as [client, sequence]
// parameters: rows, refs, sequences, erased_refs, limit
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})
CALL (m, row) {
  MATCH (a:Attribute {name: row[2]})
  MATCH (a)-[t:INTEGRATED_INTO]->(m)
  WHERE NOT (t.ref IN $refs AND (t.ref IN $erased_refs OR t.sequence IN $sequences))
  WITH DISTINCT t.ref AS ref, t.sequence AS sequence ORDER BY sequence, ref LIMIT $limit
  RETURN collect([ref, sequence]) AS senders
}
RETURN collect([row[0], row[1], row[2], senders])
