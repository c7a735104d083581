// name: forget/learned_rows/marked_blocks
// purpose: blocks with rows that are marked, held until the transaction ends, some a call
// parameters: limit
MATCH (b:LearnedBlock {marked: true})
WITH b LIMIT $limit
SET b.locked = true
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights
