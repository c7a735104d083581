// name: maintenance/check/numbers/lost_last_blocks
// purpose: checkpoints beyond the end of the learned blocks
// parameters: limit
// scans: Checkpoint, of which there is one beside the barriers
OPTIONAL MATCH (b:LearnedBlock)
WHERE b.through > 0
WITH coalesce(max(b.through), 0) AS ended
MATCH (c:Checkpoint)
WHERE c.complete AND c.sequence > ended
RETURN c.sequence, ended LIMIT $limit
