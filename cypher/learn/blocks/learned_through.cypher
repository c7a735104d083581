// name: learn/blocks/learned_through
// purpose: the sequence through which everything is learned
// parameters: none
MATCH (b:LearnedBlock)
WHERE b.through > 0
RETURN b.through ORDER BY b.through DESC LIMIT 1
