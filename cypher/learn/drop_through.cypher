// name: learn/drop_through
// purpose: drop the blocks that were learned on the old start
// parameters: through
MATCH (b:LearnedBlock)
WHERE b.through <= $through
DELETE b
