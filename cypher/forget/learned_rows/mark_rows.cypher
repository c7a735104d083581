// name: forget/learned_rows/mark_rows
// purpose: mark rows of learned blocks as empty, and others as a first adoption; they are written into the blocks later
// parameters: rows
UNWIND $rows AS row
MATCH (b:LearnedBlock {through: row[0]})
SET b.marked = true, b.emptied = coalesce(b.emptied, []) + row[1], b.promoted = coalesce(b.promoted, []) + row[2],
  b.promoted_routers = coalesce(b.promoted_routers, []) + row[3], b.promoted_weights = coalesce(b.promoted_weights, []) + row[4]
