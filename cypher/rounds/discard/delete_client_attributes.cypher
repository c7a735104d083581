// name: rounds/discard/delete_client_attributes
// purpose: what an unfinished round staged of clients' attributes goes, some a call; how many
// parameters: limit
MATCH (c:Client)
WHERE c.staged > 0
WITH c LIMIT $limit
REMOVE c.staged, c.staged_holds
RETURN count(*)
