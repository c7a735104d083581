// name: learn/checkpoints/create_pieces
// purpose: create pieces of arrays, given as their properties
// parameters: pieces
UNWIND $pieces AS piece
CREATE (p:CheckpointPart)
SET p = piece
