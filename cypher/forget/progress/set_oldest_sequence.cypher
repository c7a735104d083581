// name: forget/progress/set_oldest_sequence
// purpose: move the oldest sequence of time travel forward, never back
// parameters: before
MATCH (p:Progress {name: 'retention'})
SET p.locked = true
WITH p WHERE p.oldest < $before
SET p.oldest = $before
