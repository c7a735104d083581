// name: checkpoints/complete
// purpose: this one is visible; older ones that are no barrier go. Nothing where another was begun meanwhile
// parameters: id
// scans: Checkpoint, of which there is one beside the barriers
MATCH (c:Checkpoint {id: $id})
SET c.complete = true
WITH c
CALL (c) {
  MATCH (old:Checkpoint)
  WHERE old.id < c.id AND NOT old.barrier
  DELETE old
}
RETURN c.id
