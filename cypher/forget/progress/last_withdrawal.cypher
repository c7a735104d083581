// name: forget/progress/last_withdrawal
// purpose: the sequence of the newest retraction or erasure
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN coalesce(p.sequence, 0)
