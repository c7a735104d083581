// name: index/outbox/add_changes
// purpose: add changes for the vector index
// parameters: rows, now
UNWIND $rows AS row
MERGE (w:Waiting {id: row[0]})
SET w.collection = row[1], w.key = row[2], w.version = row[3], w.round = row[4], w.at = coalesce($now, timestamp())
