// name: maintenance/sweep/delete_checkpoint_pieces
// purpose: drop pieces of checkpoints that are gone, some a call; how many
// parameters: limit
// scans: CheckpointPart, a MiB each
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
MATCH (p:CheckpointPart)
WHERE NOT EXISTS { MATCH (:Checkpoint {id: p.checkpoint}) }
WITH p LIMIT $limit
DELETE p
RETURN count(*)
