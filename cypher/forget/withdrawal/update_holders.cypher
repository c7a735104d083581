// name: forget/withdrawal/update_holders
// purpose: attributes counted anew
// parameters: rows
UNWIND $rows AS row
MATCH (a:Attribute {name: row[0]})
SET a.holders = row[1]
