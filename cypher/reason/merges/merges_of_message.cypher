// name: reason/merges/merges_of_message
// purpose: the clients that merged or dropped a message
// parameters: router, version, limit
MATCH (m:Message {router: $router, version: $version})-[g:MERGED_INTO]->(p:ProfileVersion)
RETURN p.ref, p.version, m.router, m.version, g.outcome ORDER BY p.ref, p.version LIMIT $limit
