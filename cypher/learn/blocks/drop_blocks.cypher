// name: learn/blocks/drop_blocks
// purpose: the blocks that were learned on the old start are none from now on; they go in parts
// parameters: through
MATCH (b:LearnedBlock)
WHERE b.through <= $through
SET b:DroppedBlock
REMOVE b:LearnedBlock
