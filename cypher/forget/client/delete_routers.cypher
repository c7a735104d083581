// name: forget/client/delete_routers
// purpose: delete routers that stood for a client (point-to-point routing)
// parameters: routers
UNWIND $routers AS router
MATCH (r:Router {number: router})
DETACH DELETE r
