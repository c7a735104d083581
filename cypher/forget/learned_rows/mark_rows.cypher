// name: forget/learned_rows/mark_rows
// purpose: mark rows of learned blocks to be emptied, and others to become a first adoption; later commits write the marked rows into their blocks
// parameters: rows
UNWIND $rows AS row
MATCH (b:LearnedBlock {through: row[0]})
SET b.marked = true, b.emptied = coalesce(b.emptied, []) + row[1], b.promoted = coalesce(b.promoted, []) + row[2],
  b.promoted_routers = coalesce(b.promoted_routers, []) + row[3], b.promoted_weights = coalesce(b.promoted_weights, []) + row[4]
