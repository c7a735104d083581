// name: learn/blocks/clear_withdrawn_rows
// purpose: blocks that were learned again have no rows of what was taken back before
// parameters: through
MATCH (v:Vacant)
WHERE v.sequence <= $through
SET v.learned = false
