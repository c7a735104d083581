// name: record/events/create_interactions
// purpose: create interactions, (user)-[DID]->(interaction)-[WITH]->(item), and move the end of the log
// parameters: at, rows, sequence, users, items
MATCH (p:Progress {name: 'log'})
SET p.sequence = $sequence, p.at = $at, p.users = $users, p.items = $items
CREATE (:Commit {sequence: $sequence, at: $at})
WITH p
UNWIND $rows AS row
MATCH (u:Client {ref: row[3]})
CALL (row, u) {
  MATCH (c:Client {ref: row[4]})
  CREATE (u)-[:DID]->(:Interaction {sequence: row[0], event_id: row[1], content_hash: row[2], user: row[3], item: row[4],
                                    negative: row[5], time: row[6], weight: row[7], seed: row[8], metadata: row[9], at: $at})-[:WITH]->(c)
}
