// name: rounds/discard/reopen_edges
// purpose: reopen a batch of edges that an unfinished round closed; returns how many
// parameters: last, limit
MATCH ()-[e:ROUTES_TO]->()
WHERE e.closed > $last AND e.router >= 0
WITH e LIMIT $limit
REMOVE e.closed
RETURN count(e)
