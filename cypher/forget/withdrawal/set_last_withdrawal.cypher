// name: forget/withdrawal/set_last_withdrawal
// purpose: the sequence of the newest retraction or erasure is this one
// parameters: sequence
MATCH (p:Progress {name: 'forgetting'})
SET p.sequence = $sequence
