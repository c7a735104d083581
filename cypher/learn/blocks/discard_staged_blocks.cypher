// name: learn/blocks/discard_staged_blocks
// purpose: drop staged blocks that were never published; the sweep deletes them in batches
// parameters: none
MATCH (b:StagedBlock)
WHERE b.through >= 0
SET b:DroppedBlock
REMOVE b:StagedBlock
