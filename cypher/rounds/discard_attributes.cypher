// name: rounds/discard_attributes
// purpose: attributes that an unfinished round staged are as they were
// parameters: none
MATCH (a:Attribute)
WHERE a.staged > 0
REMOVE a.staged, a.staged_router, a.staged_holders, a.staged_canonical
