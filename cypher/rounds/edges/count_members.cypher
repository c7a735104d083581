// name: rounds/edges/count_members
// purpose: the number of current edges of routers
// parameters: routers, at
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0 AND ($at IS NULL OR d.sequence <= $at)
  RETURN d.number AS last ORDER BY d.number DESC LIMIT 1
}
UNWIND $routers AS number
MATCH (r:Router {number: number})-[e:ROUTES_TO]->()
WHERE e.opened + 0 <= last AND (e.closed IS NULL OR e.closed + 0 > last)
RETURN number, count(e)
