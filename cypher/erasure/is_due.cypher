// name: erasure/is_due
// purpose: whether a client was forgotten and is not wiped
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN p.due
