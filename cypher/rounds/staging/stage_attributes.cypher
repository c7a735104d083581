// name: rounds/staging/stage_attributes
// purpose: stage attributes that are new, mapped or counted again, invisible until the round is published
// parameters: round, rows
UNWIND $rows AS row
MERGE (a:Attribute {name: row[0]})
SET a.staged = $round, a.staged_router = row[1], a.staged_holders = row[2], a.staged_users = row[3],
  a.staged_canonical = row[4]
