// name: rounds/discard/delete_edges
// purpose: delete a batch of edges that an unfinished round opened; returns how many
// parameters: last, limit
MATCH ()-[e:ROUTES_TO]->()
WHERE e.opened > $last AND e.router >= 0
WITH e LIMIT $limit
DELETE e
RETURN count(*)
