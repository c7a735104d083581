// name: learn/blocks/clear_withdrawn_rows
// purpose: note that the blocks learned again have no rows of interactions that were withdrawn before
// parameters: through
MATCH (v:Vacant)
WHERE v.sequence <= $through
SET v.learned = false
