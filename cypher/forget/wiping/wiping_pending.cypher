// name: forget/wiping/wiping_pending
// purpose: whether traces of a forgotten client may remain
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN p.due
