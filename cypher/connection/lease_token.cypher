// name: connection/lease_token
// purpose: read a lease's token and lock it until the transaction ends, so that no other process can acquire the lease meanwhile
// parameters: name
MATCH (l:Lease {name: $name})
SET l.locked = true
RETURN l.token
