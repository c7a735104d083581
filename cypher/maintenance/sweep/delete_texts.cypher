// name: maintenance/sweep/delete_texts
// purpose: drop texts of clients that were forgotten, some a call; how many
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
