// name: forget/client/messages_of_routers
// purpose: every message of some routers: keys
// parameters: routers
UNWIND $routers AS router
MATCH (m:Message)
WHERE m.router = router AND m.version > -1
RETURN m.router, m.version
