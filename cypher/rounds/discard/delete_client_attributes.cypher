// name: rounds/discard/delete_client_attributes
// purpose: delete a batch of clients' attributes that an unfinished round staged; returns how many
// parameters: limit
MATCH (c:Client)
WHERE c.staged > 0
WITH c LIMIT $limit
REMOVE c.staged, c.staged_holds
RETURN count(*)
