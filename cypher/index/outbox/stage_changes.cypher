// name: index/outbox/stage_changes
// purpose: stage changes for the vector index, invisible until their round is published
// parameters: rows, round
UNWIND $rows AS row
MERGE (w:Waiting {id: row[0]})
SET w.collection = row[1], w.key = row[2], w.version = row[3], w.round = $round, w.staged = true
