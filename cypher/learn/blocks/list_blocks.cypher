// name: learn/blocks/list_blocks
// purpose: blocks after a sequence, in order
// parameters: after, limit
MATCH (b:LearnedBlock)
WHERE b.through > $after
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights, b.trust, b.combiner ORDER BY b.through LIMIT $limit
