// name: forget/wiping/pending_clients
// purpose: the refs of forgotten clients whose traces may remain
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN p.leaving
