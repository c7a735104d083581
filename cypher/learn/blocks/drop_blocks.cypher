// name: learn/blocks/drop_blocks
// purpose: drop the blocks that were learned on the old start; the sweep deletes them in batches
// parameters: through
MATCH (b:LearnedBlock)
WHERE b.through > 0 AND b.after < $through
SET b:DroppedBlock
REMOVE b:LearnedBlock
