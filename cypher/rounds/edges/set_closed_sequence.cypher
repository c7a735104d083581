// name: rounds/edges/set_closed_sequence
// purpose: a published round's closed edges get its sequence, of some routers a call
// parameters: round, sequence, first, until
MATCH ()-[e:ROUTES_TO]->()
WHERE e.closed = $round AND e.router >= $first AND e.router < $until AND e.until IS NULL
SET e.until = $sequence
