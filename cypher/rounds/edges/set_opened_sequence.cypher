// name: rounds/edges/set_opened_sequence
// purpose: a published round's new edges get its sequence, of some routers a call
// parameters: round, sequence, first, until
MATCH ()-[e:ROUTES_TO]->()
WHERE e.opened = $round AND e.router >= $first AND e.router < $until AND e.from IS NULL
SET e.from = $sequence
