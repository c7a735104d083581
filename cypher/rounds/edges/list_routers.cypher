// name: rounds/edges/list_routers
// purpose: the numbers of all routers, ascending
// parameters: none
MATCH (r:Router)
WHERE r.number >= 0
WITH r.number AS number ORDER BY number
RETURN collect(number)
