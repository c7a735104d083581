// name: learn/checkpoints/publish_checkpoint
// purpose: make a checkpoint visible; returns id, whether it is a barrier and whether it is complete of every checkpoint, or nothing if another was begun meanwhile
// parameters: id
// scans: Checkpoint, of which there is one beside the barriers
MATCH (c:Checkpoint {id: $id})
SET c.complete = true
WITH c
MATCH (one:Checkpoint)
RETURN collect([one.id, one.barrier, one.complete])
