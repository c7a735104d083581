// name: forget/wiping/count_erasures
// purpose: how many clients were ever forgotten
// parameters: none
MATCH (p:Progress {name: 'forgetting'})
RETURN coalesce(p.times, 0)
