// name: reason/texts/create_versions
// purpose: create new versions of clients' texts, each linked to the interaction that wrote it, if one did
// parameters: now, rows, written_by
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
SET c.version = row[1]
CREATE (c)-[:HAS]->(p:ProfileVersion {
  ref: row[0], version: row[1], sequence: row[2], next_id: row[4], watermark: row[5], dropped: row[6], body: row[7], number: row[8],
  at: coalesce($now, timestamp()), written_by: $written_by})
WITH p, row
MATCH (i:Interaction {sequence: row[3]})
CREATE (i)-[:WROTE]->(p)
