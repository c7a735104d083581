// name: rounds/staging/publish_client_attributes
// purpose: what clients now hold can be seen
// parameters: round
MATCH (c:Client)
WHERE c.staged = $round
SET c.holds = c.staged_holds
REMOVE c.staged, c.staged_holds
