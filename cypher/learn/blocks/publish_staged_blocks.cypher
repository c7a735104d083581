// name: learn/blocks/publish_staged_blocks
// purpose: the blocks that were learned again are the learned ones
// parameters: none
MATCH (b:StagedBlock)
WHERE b.through >= 0
SET b:LearnedBlock
REMOVE b:StagedBlock
