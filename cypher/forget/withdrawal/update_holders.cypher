// name: forget/withdrawal/update_holders
// purpose: set the number of holders of attributes
// parameters: rows
UNWIND $rows AS row
MATCH (a:Attribute {name: row[0]})
SET a.holders = row[1]
