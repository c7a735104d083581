// name: forget/wiping/finish_wiping
// purpose: note that no traces of forgotten clients remain, unless another erasure was counted since
// parameters: times
MATCH (p:Progress {name: 'forgetting'})
SET p.locked = true
WITH p
WHERE coalesce(p.times, 0) = $times
SET p.due = false
REMOVE p.leaving
