// name: rounds/staging/create_routers
// purpose: routers by number
// parameters: rows
UNWIND $rows AS number
MERGE (:Router {number: number})
