// name: forget/withdrawal/set_client_attributes
// purpose: what clients hold now
// parameters: rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
SET c.holds = row[1]
