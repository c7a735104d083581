// name: learn/checkpoints/create_checkpoint
// purpose: create an invisible checkpoint and delete one that was never completed; returns the id
// parameters: sequence, epoch, barrier
// scans: Checkpoint, of which there is one beside the barriers
MATCH (p:Progress {name: 'checkpoint'})
SET p.locked = true
WITH p
CALL () {
  MATCH (c:Checkpoint)
  WHERE NOT c.complete
  DELETE c
}
WITH p, p.id + 1 AS id
SET p.id = id
CREATE (:Checkpoint {id: id, sequence: $sequence, epoch: $epoch, barrier: $barrier, complete: false})
RETURN id
