// name: forget/retention/delete_gradients
// purpose: delete a batch of gradients of one kind of module up to a sequence; returns how many
// parameters: module, before, limit
MATCH (g:Gradient)
WHERE g.module = $module AND g.sequence <= $before AND g.owner >= 0
WITH g LIMIT $limit
DETACH DELETE g
RETURN count(*)
