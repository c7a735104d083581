// name: connection/lease_token
// purpose: hold a lease's token until the transaction ends: nobody takes it over meanwhile
// parameters: name
MATCH (l:Lease {name: $name})
SET l.locked = true
RETURN l.token
