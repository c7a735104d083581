// name: rounds/discard/delete_edges
// purpose: drop edges that an unfinished round opened, some a call; how many
// parameters: last, limit
MATCH ()-[e:ROUTES_TO]->()
WHERE e.opened > $last AND e.router >= 0
WITH e LIMIT $limit
DELETE e
RETURN count(*)
