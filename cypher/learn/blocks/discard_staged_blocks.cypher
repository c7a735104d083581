// name: learn/blocks/discard_staged_blocks
// purpose: blocks that were learned again and never published are none from now on; they go in parts
// parameters: none
MATCH (b:StagedBlock)
WHERE b.through >= 0
SET b:DroppedBlock
REMOVE b:StagedBlock
