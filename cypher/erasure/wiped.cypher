// name: erasure/wiped
// purpose: nothing that is known of is left
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
SET p.due = false
