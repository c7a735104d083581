// name: index/outbox/discard_staged
// purpose: delete a batch of changes that an unfinished round staged; returns how many
// parameters: limit
MATCH (w:Waiting {staged: true})
WITH w LIMIT $limit
DELETE w
RETURN count(*)
