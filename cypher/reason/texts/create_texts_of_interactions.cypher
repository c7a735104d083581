// name: reason/texts/create_texts_of_interactions
// purpose: create new versions of clients' texts, each linked to the interaction that wrote it; returns how many
// parameters: now, rows, interactions
UNWIND range(0, size($rows) - 1) AS place
WITH $rows[place] AS row, $interactions[place] AS sequence
MATCH (c:Client {ref: row[0]})
SET c.version = row[1]
WITH row, sequence, c
CALL (row, sequence, c) {
  MATCH (i:Interaction {sequence: sequence})
  CREATE (i)-[:WROTE]->(p:ProfileVersion {
    ref: row[0], version: row[1], sequence: row[2], next_id: row[3], watermark: row[4], dropped: row[5], line_ids: row[6],
    line_texts: row[7], line_weights: row[8], line_authors: row[9], attribute_lines: row[10], attributes: row[11],
    source_lines: row[12], source_sequences: row[13], source_routers: row[14], source_versions: row[15], rules: row[16], rule_routers: row[17], number: row[18],
    at: coalesce($now, timestamp())})
  CREATE (c)-[:HAS]->(p)
}
