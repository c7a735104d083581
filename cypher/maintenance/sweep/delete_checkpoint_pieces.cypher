// name: maintenance/sweep/delete_checkpoint_pieces
// purpose: delete a batch of pieces of deleted checkpoints; returns how many
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
