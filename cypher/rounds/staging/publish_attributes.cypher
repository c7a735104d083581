// name: rounds/staging/publish_attributes
// purpose: publish staged attributes
// parameters: round
MATCH (a:Attribute)
WHERE a.staged = $round
SET a.router = a.staged_router, a.holders = a.staged_holders, a.users = a.staged_users, a.canonical = a.staged_canonical
REMOVE a.staged, a.staged_router, a.staged_holders, a.staged_users, a.staged_canonical
