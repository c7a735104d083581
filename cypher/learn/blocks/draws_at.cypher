// name: learn/blocks/draws_at
// purpose: what learn drew and scored for the block that a sequence belongs to
// parameters: sequence
MATCH (b:LearnedBlock)
WHERE b.through >= $sequence
RETURN b.through, b.size, b.drawn ORDER BY b.through LIMIT 1
