// name: forget/client/delete_routers
// purpose: routers that were a client themselves
// parameters: routers
UNWIND $routers AS router
MATCH (r:Router {number: router})
DETACH DELETE r
