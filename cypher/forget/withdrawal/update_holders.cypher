// name: forget/withdrawal/update_holders
// purpose: set how many clients, and how many users, hold attributes
// parameters: rows
UNWIND $rows AS row
MATCH (a:Attribute {name: row[0]})
SET a.holders = row[1], a.users = row[2]
