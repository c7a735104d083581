// name: rounds/discard/restore_attributes
// purpose: attributes that an unfinished round staged are as they were, some a call; how many
// parameters: limit
MATCH (a:Attribute)
WHERE a.staged > 0
WITH a LIMIT $limit
REMOVE a.staged, a.staged_router, a.staged_holders, a.staged_canonical
RETURN count(*)
