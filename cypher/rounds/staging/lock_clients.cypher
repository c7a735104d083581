// name: rounds/staging/lock_clients
// purpose: lock clients in the order of their refs until the transaction ends
// parameters: rows
UNWIND $rows AS ref
MATCH (c:Client {ref: ref})
SET c.locked = true
