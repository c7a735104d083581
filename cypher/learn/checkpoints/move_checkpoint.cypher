// name: learn/checkpoints/move_checkpoint
// purpose: a checkpoint that is being written stands at another sequence from now on. Nothing where another was begun meanwhile
// parameters: id, sequence
// scans: Checkpoint, of which there is one beside the barriers
MATCH (c:Checkpoint {id: $id})
WHERE NOT c.complete
SET c.sequence = $sequence
RETURN c.id
