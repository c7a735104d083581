// name: learn/blocks/clear_withdrawn_rows
// purpose: note that the blocks learned again have no rows of the withdrawn interactions
// parameters: through
MATCH (v:Vacant)
WHERE v.sequence <= $through
SET v.learned = false
