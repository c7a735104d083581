// name: record/interactions
// purpose: new interactions: (user)-[DID]->(interaction)-[WITH]->(item)
// parameters: at, rows
UNWIND $rows AS row
MATCH (u:Client {ref: row[3]})
CALL (row, u) {
  MATCH (c:Client {ref: row[4]})
  CREATE (u)-[:DID]->(:Interaction {sequence: row[0], event_id: row[1], content_hash: row[2], user: row[3], item: row[4],
                                    negative: row[5], time: row[6], weight: row[7], seed: row[8], metadata: row[9], at: $at})-[:WITH]->(c)
}
