// name: rounds/newest_rounds
// purpose: the newest published rounds, newest first
// parameters: limit
MATCH (r:Round)
WHERE r.number > 0
RETURN r.number, r.boundary, r.sequence, r.changed, r.touched, r.edges_opened, r.edges_closed, r.reached
ORDER BY r.number DESC LIMIT $limit
