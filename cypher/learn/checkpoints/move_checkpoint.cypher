// name: learn/checkpoints/move_checkpoint
// purpose: move an incomplete checkpoint to another sequence; no row if another was begun meanwhile
// parameters: id, sequence
// scans: Checkpoint, of which there is one beside the barriers
MATCH (c:Checkpoint {id: $id})
WHERE NOT c.complete
SET c.sequence = $sequence
RETURN c.id
