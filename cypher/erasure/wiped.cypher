// name: erasure/wiped
// purpose: nothing is left of what had been taken back by then; where something was taken back since, it stays due
// parameters: times
MATCH (p:Progress {name: 'forgetting'})
SET p.locked = true
WITH p
WHERE coalesce(p.times, 0) = $times
SET p.due = false
