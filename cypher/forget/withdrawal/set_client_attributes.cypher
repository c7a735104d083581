// name: forget/withdrawal/set_client_attributes
// purpose: set the attributes that clients hold
// parameters: rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
SET c.holds = row[1]
