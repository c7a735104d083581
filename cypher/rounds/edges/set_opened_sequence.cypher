// name: rounds/edges/set_opened_sequence
// purpose: set the sequence of a published round on the edges that it opened, for a range of routers
// parameters: round, sequence, first, until
MATCH ()-[e:ROUTES_TO]->()
WHERE e.opened = $round AND e.router >= $first AND e.router < $until AND e.from IS NULL
SET e.from = $sequence
