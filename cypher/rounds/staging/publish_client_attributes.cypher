// name: rounds/staging/publish_client_attributes
// purpose: publish the staged attributes of clients
// parameters: round
MATCH (c:Client)
WHERE c.staged = $round
WITH c ORDER BY c.ref
SET c.holds = c.staged_holds
REMOVE c.staged, c.staged_holds
