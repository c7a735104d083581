// name: forget/wiping/pending_clients
// purpose: refs of forgotten clients of which something may be left
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN p.leaving
