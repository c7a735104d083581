// name: connection/release_lease
// purpose: release a lease; no change if the lease was lost
// parameters: name, token
MATCH (l:Lease {name: $name})
SET l.locked = true
WITH l WHERE l.token = $token
SET l.expires = 0
