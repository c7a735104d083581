// name: maintenance/sweep/delete_trust
// purpose: delete a batch of increments of trust that a complete checkpoint covers; returns the number of blocks
// parameters: limit
// scans: Checkpoint, of which there is one beside the barriers
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
MATCH (c:Checkpoint)
WHERE c.complete
WITH max(c.sequence) AS covered
MATCH (b:LearnedBlock)
WHERE b.increments <= covered
WITH b LIMIT $limit
REMOVE b.trust, b.combiner, b.increments
RETURN count(b)
