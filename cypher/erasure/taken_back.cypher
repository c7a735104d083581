// name: erasure/taken_back
// purpose: the sequence of the newest retraction or erasure is this one
// parameters: sequence
MATCH (p:Progress {name: 'forgetting'})
SET p.sequence = $sequence
