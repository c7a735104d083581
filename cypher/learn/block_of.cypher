// name: learn/block_of
// purpose: the block that a sequence belongs to
// parameters: sequence
MATCH (b:LearnedBlock)
WHERE b.through >= $sequence
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote ORDER BY b.through LIMIT 1
