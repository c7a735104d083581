// name: maintenance/sweep/delete_interactions
// purpose: delete a batch of withdrawn interactions, except for their places in the log; returns how many
// parameters: limit
// scans: Leaving, what was taken back and is not swept yet
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
MATCH (i:Leaving)
WHERE i:Vacant
WITH i LIMIT $limit
CALL (i) {
  MATCH (i)-[:GAVE]->(g:Gradient)
  DETACH DELETE g
}
CALL (i) {
  MATCH (i)-[e]-()
  DELETE e
}
SET i = {sequence: i.sequence, learned: i.learned}
REMOVE i:Leaving
RETURN count(i)
