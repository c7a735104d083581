// name: forget/wiping/wiping_pending
// purpose: whether a client was forgotten and is not wiped
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN p.due
