// name: rounds/publish_held
// purpose: what clients now hold can be seen
// parameters: round
MATCH (c:Client)
WHERE c.staged = $round
SET c.holds = c.staged_holds
REMOVE c.staged, c.staged_holds
