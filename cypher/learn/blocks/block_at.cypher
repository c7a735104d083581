// name: learn/blocks/block_at
// purpose: the block that contains a sequence
// parameters: sequence
MATCH (b:LearnedBlock)
WHERE b.through >= $sequence
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights ORDER BY b.through LIMIT 1
