// name: rounds/edges/set_closed_sequence
// purpose: set the sequence of a published round on the edges that it closed, for a range of routers
// parameters: round, sequence, first, until
MATCH ()-[e:ROUTES_TO]->()
WHERE e.closed = $round AND e.router >= $first AND e.router < $until AND e.until IS NULL
SET e.until = $sequence
