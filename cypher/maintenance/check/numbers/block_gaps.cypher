// name: maintenance/check/numbers/block_gaps
// purpose: learned blocks that do not start where the block before them ends
// parameters: limit
MATCH (b:LearnedBlock)
WHERE b.through > 0
WITH b.after AS after, b.through AS through ORDER BY through
WITH collect([after, through]) AS blocks
UNWIND range(0, size(blocks) - 1) AS place
WITH blocks[place] AS block, CASE WHEN place = 0 THEN 0 ELSE blocks[place - 1][1] END AS ahead
WHERE block[0] <> ahead
RETURN block[1], ahead LIMIT $limit
