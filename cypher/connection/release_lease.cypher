// name: connection/release_lease
// purpose: give a lease back; nothing where it was lost
// parameters: name, token
MATCH (l:Lease {name: $name})
SET l.locked = true
WITH l WHERE l.token = $token
SET l.expires = 0
