// name: rounds/messages/versions_before
// purpose: the published messages of a router below a version, newest first
// parameters: router, before, limit
MATCH (m:Message)
WHERE m.router = $router AND m.version < $before AND m.round > 0
MATCH (d:Round {number: m.round})
RETURN m.router, m.version ORDER BY m.router DESC, m.version DESC LIMIT $limit
