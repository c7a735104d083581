// name: reason/claims/queue_dead_letters
// purpose: queue dead letters to be tried again, those of these sequences, or with null all; returns how many are queued
// parameters: sequences
MATCH (p:Progress {name: 'reason'})
SET p.locked = true
WITH p
MATCH (i:DeadLetter)
WHERE i.sequence > 0 AND ($sequences IS NULL OR i.sequence IN $sequences)
SET i.queued = true
RETURN count(i)
