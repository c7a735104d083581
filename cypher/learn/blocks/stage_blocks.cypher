// name: learn/blocks/stage_blocks
// purpose: stage blocks that were learned again, invisible until their epoch opens
// parameters: rows
UNWIND $rows AS row
CREATE (b:StagedBlock)
SET b = row
