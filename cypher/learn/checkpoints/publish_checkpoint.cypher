// name: learn/checkpoints/publish_checkpoint
// purpose: make a checkpoint visible and delete older ones except the newest barrier; no row if another was begun meanwhile
// parameters: id
// scans: Checkpoint, of which there is one beside the barriers
MATCH (c:Checkpoint {id: $id})
SET c.complete = true
WITH c, coalesce(head(COLLECT { MATCH (b:Checkpoint) WHERE b.id > 0 AND b.complete AND b.barrier RETURN b.id ORDER BY b.id DESC LIMIT 1 }), 0) AS barrier
CALL (c, barrier) {
  MATCH (old:Checkpoint)
  WHERE old.id < c.id AND old.id <> barrier
  DELETE old
}
RETURN c.id
