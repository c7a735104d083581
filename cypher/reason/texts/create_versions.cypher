// name: reason/texts/create_versions
// purpose: create new versions of clients' texts, each linked to the interaction that wrote it: [ref, version, interaction or null, next_id, watermark, dropped, body, sequence, commit number]
// parameters: now, rows, written_by
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
SET c.version = row[1]
CREATE (c)-[:HAS]->(p:ProfileVersion {
  ref: row[0], version: row[1], sequence: row[7], next_id: row[3], watermark: row[4], dropped: row[5], body: row[6], number: row[8],
  at: coalesce($now, timestamp()), written_by: $written_by})
WITH p, row
MATCH (i:Interaction {sequence: row[2]})
CREATE (i)-[:WROTE]->(p)
