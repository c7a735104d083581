// name: index/outbox/discard_staged
// purpose: what an unfinished round staged, some a call; how many
// parameters: limit
MATCH (w:Waiting {staged: true})
WITH w LIMIT $limit
DELETE w
RETURN count(*)
