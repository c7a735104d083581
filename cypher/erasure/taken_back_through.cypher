// name: erasure/taken_back_through
// purpose: the sequence of the newest retraction or erasure
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN coalesce(p.sequence, 0)
