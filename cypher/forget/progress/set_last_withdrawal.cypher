// name: forget/progress/set_last_withdrawal
// purpose: set the sequence of the newest retraction or erasure
// parameters: sequence
MATCH (p:Progress {name: 'forgetting'})
SET p.sequence = $sequence
