// name: index/outbox/delete_changes
// purpose: delete changes that the index has received, in this version or an older one
// parameters: rows
UNWIND $rows AS row
MATCH (w:Waiting {id: row[0]})
WHERE w.version <= row[1] AND w.staged IS NULL
DELETE w
