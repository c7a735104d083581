// name: forget/learned_rows/marked_blocks
// purpose: some blocks with marked rows, locked until the transaction ends
// parameters: limit
MATCH (b:LearnedBlock {marked: true})
WITH b LIMIT $limit
SET b.locked = true
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights
