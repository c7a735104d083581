// name: maintenance/check/routing/unsent_messages
// purpose: messages that have lost the relationship to the router that sent them
// parameters: limit
// scans: Message, a check looks at every one
MATCH (m:Message)
WHERE NOT EXISTS { (:Router)-[:SENT]->(m) }
RETURN m.version, m.router LIMIT $limit
