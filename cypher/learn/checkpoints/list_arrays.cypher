// name: learn/checkpoints/list_arrays
// purpose: the arrays of a checkpoint, by their first pieces
// parameters: id
MATCH (p:CheckpointPart)
WHERE p.checkpoint = $id AND p.name >= '' AND p.part = 0
RETURN p.name, p.dtype, p.shape
