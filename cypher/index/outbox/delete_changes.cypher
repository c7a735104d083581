// name: index/outbox/delete_changes
// purpose: changes that the index has; newer ones stay
// parameters: rows
UNWIND $rows AS row
MATCH (w:Waiting {id: row[0]})
WHERE w.version <= row[1] AND w.staged IS NULL
DELETE w
