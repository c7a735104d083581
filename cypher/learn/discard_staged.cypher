// name: learn/discard_staged
// purpose: drop blocks that were learned again and never published
// parameters: none
MATCH (b:StagedBlock)
WHERE b.through >= 0
DELETE b
