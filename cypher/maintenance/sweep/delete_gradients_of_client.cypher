// name: maintenance/sweep/delete_gradients_of_client
// purpose: delete a batch of gradients of forgotten clients' own modules; returns how many
// parameters: refs, modules, limit
MATCH (held:Progress {name: 'checkpoint'})
SET held.locked = true
WITH held
UNWIND $modules AS module
MATCH (g:Gradient)
WHERE g.module = module AND g.sequence > -1 AND g.owner IN $refs
WITH g LIMIT $limit
DETACH DELETE g
RETURN count(*)
