// name: forget/client/messages_of_routers
// purpose: the keys of all messages of some routers
// parameters: routers
UNWIND $routers AS router
MATCH (m:Message)
WHERE m.router = router AND m.version > -1
RETURN m.router, m.version
