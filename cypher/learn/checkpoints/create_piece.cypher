// name: learn/checkpoints/create_piece
// purpose: create a piece of one array
// parameters: checkpoint, name, part, dtype, shape, data
CREATE (:CheckpointPart {checkpoint: $checkpoint, name: $name, part: $part, dtype: $dtype, shape: $shape, data: $data})
