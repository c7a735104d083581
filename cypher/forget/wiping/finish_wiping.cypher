// name: forget/wiping/finish_wiping
// purpose: nothing is left of who had been forgotten by then; where somebody was forgotten since, it stays due
// parameters: times
MATCH (p:Progress {name: 'forgetting'})
SET p.locked = true
WITH p
WHERE coalesce(p.times, 0) = $times
SET p.due = false
REMOVE p.leaving
