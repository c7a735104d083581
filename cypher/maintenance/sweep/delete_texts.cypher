// name: maintenance/sweep/delete_texts
// purpose: delete a batch of versions, lines and rules of forgotten clients; returns how many
// parameters: limit
// scans: Leaving, what was taken back and is not swept yet
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
MATCH (p:Leaving)
WHERE NOT p:Vacant
WITH p LIMIT $limit
DETACH DELETE p
RETURN count(*)
