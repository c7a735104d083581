// name: rounds/staging/stage_messages
// purpose: stage router versions, which are the messages; they stay invisible until their round is published
// parameters: rows
UNWIND $rows AS row
MATCH (r:Router {number: row.router})
MERGE (m:Message {router: row.router, version: row.version})
SET m = row
MERGE (r)-[:SENT]->(m)
