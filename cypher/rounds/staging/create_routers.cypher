// name: rounds/staging/create_routers
// purpose: create routers that do not exist yet
// parameters: rows
UNWIND $rows AS number
MERGE (:Router {number: number})
