// name: erasure/is_due
// purpose: whether something was taken back and is not wiped
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN p.due
