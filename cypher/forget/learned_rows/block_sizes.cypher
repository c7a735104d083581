// name: forget/learned_rows/block_sizes
// purpose: the number of interactions in each block from a sequence on, newest first
// parameters: since
MATCH (b:LearnedBlock)
WHERE b.through >= $since
RETURN b.through, b.size ORDER BY b.through DESC
