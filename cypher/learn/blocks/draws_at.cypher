// name: learn/blocks/draws_at
// purpose: the negatives and scores of the block that contains a sequence
// parameters: sequence
MATCH (b:LearnedBlock)
WHERE b.through >= $sequence
RETURN b.through, b.size, b.drawn ORDER BY b.through LIMIT 1
