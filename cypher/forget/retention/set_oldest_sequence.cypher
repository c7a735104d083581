// name: forget/retention/set_oldest_sequence
// purpose: time travel answers from here on, or from where it did if that is later
// parameters: before
MATCH (p:Progress {name: 'retention'})
SET p.locked = true
WITH p WHERE p.oldest < $before
SET p.oldest = $before
