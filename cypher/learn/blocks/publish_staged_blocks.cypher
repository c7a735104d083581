// name: learn/blocks/publish_staged_blocks
// purpose: publish the staged blocks
// parameters: none
MATCH (b:StagedBlock)
WHERE b.through >= 0
SET b:LearnedBlock
REMOVE b:StagedBlock
