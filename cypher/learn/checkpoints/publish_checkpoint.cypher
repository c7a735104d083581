// name: learn/checkpoints/publish_checkpoint
// purpose: make a checkpoint visible; returns the id of every checkpoint, whether it is a barrier and whether it is complete, or nothing if another checkpoint was begun meanwhile
// parameters: id
// scans: Checkpoint, of which there is one beside the barriers
MATCH (c:Checkpoint {id: $id})
SET c.complete = true
WITH c
MATCH (one:Checkpoint)
RETURN collect([one.id, one.barrier, one.complete])
