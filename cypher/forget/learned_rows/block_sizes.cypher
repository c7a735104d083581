// name: forget/learned_rows/block_sizes
// purpose: how many interactions each block holds, from one on, newest first
// parameters: since
MATCH (b:LearnedBlock)
WHERE b.through >= $since
RETURN b.through, b.size ORDER BY b.through DESC
