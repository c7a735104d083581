// name: maintenance/sweep/delete_blocks
// purpose: drop blocks that others took the place of, some a call; how many
// parameters: limit
// scans: DroppedBlock, what was replaced and is not swept yet
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
MATCH (b:DroppedBlock)
WITH b LIMIT $limit
DELETE b
RETURN count(*)
