// name: learn/blocks/drop_later
// purpose: drop the blocks and checkpoints after a sequence; the sweep deletes the blocks and the pieces in batches
// parameters: after
// scans: Checkpoint, of which there is one beside the barriers
CALL () {
  MATCH (b:LearnedBlock)
  WHERE b.through > $after
  SET b:DroppedBlock
  REMOVE b:LearnedBlock
}
CALL () {
  MATCH (c:Checkpoint)
  WHERE c.sequence > $after
  DELETE c
}
RETURN $after
