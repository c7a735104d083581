// name: forget/learned_rows/blocks
// purpose: some blocks with their marked rows, locked until the transaction ends
// parameters: through
MATCH (b:LearnedBlock)
WHERE b.through IN $through
SET b.locked = true
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights
