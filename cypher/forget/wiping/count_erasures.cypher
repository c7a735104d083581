// name: forget/wiping/count_erasures
// purpose: how often a client was forgotten
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN coalesce(p.times, 0)
