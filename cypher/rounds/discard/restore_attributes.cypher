// name: rounds/discard/restore_attributes
// purpose: restore a batch of attributes that an unfinished round staged; returns how many
// parameters: limit
MATCH (a:Attribute)
WHERE a.staged > 0
WITH a LIMIT $limit
REMOVE a.staged, a.staged_router, a.staged_holders, a.staged_users, a.staged_canonical
RETURN count(*)
