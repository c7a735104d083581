// name: learn/checkpoints/array_pieces
// purpose: some pieces of one array, in order
// parameters: id, name, first, until
MATCH (p:CheckpointPart)
WHERE p.checkpoint = $id AND p.name = $name AND p.part >= $first AND p.part < $until
RETURN p.data ORDER BY p.part
