// name: rounds/discard_held
// purpose: what an unfinished round staged of clients' attributes goes
// parameters: none
MATCH (c:Client)
WHERE c.staged > 0
REMOVE c.staged, c.staged_holds
