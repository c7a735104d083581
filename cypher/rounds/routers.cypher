// name: rounds/routers
// purpose: routers by number
// parameters: numbers
UNWIND $numbers AS number
MERGE (:Router {number: number})
