// name: rounds/rounds_after
// purpose: published rounds after a number
// parameters: number, limit
MATCH (r:Round)
WHERE r.number > $number
RETURN r.number, r.boundary, r.sequence, r.changed, r.touched, r.edges_opened, r.edges_closed, r.reached
ORDER BY r.number LIMIT $limit
