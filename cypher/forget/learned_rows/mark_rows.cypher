// name: forget/learned_rows/mark_rows
// purpose: rows of learned blocks hold nothing from now on, others are a first adoption; written into the block later
// parameters: rows
UNWIND $rows AS row
MATCH (b:LearnedBlock {through: row[0]})
SET b.marked = true, b.emptied = coalesce(b.emptied, []) + row[1], b.promoted = coalesce(b.promoted, []) + row[2],
  b.promoted_routers = coalesce(b.promoted_routers, []) + row[3], b.promoted_weights = coalesce(b.promoted_weights, []) + row[4]
