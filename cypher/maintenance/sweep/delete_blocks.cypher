// name: maintenance/sweep/delete_blocks
// purpose: delete a batch of replaced blocks; returns how many
// parameters: limit
// scans: DroppedBlock, what was replaced and is not swept yet
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
MATCH (b:DroppedBlock)
WITH b LIMIT $limit
DELETE b
RETURN count(*)
