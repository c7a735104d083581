// name: erasure/times
// purpose: how often something was taken back
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN coalesce(p.times, 0)
