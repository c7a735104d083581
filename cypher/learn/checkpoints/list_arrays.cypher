// name: learn/checkpoints/list_arrays
// purpose: the arrays of a checkpoint, with type and shape
// parameters: id
MATCH (p:CheckpointPart)
WHERE p.checkpoint = $id AND p.name >= '' AND p.part = 0
RETURN p.name, p.dtype, p.shape
