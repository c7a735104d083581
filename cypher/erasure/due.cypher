// name: erasure/due
// purpose: something was taken back, and its traces may still be there
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
SET p.due = true
