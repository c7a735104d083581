// name: forget/learned_rows/write_block
// purpose: write a block's columns with its marked rows
// parameters: through, drawn, wrote
MATCH (b:LearnedBlock {through: $through})
SET b.drawn = $drawn, b.wrote = $wrote
REMOVE b.marked, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights, b.locked
