// name: maintenance/check/routing/incomplete_messages
// purpose: messages that have lost a property that each one has: [version, router]
// parameters: limit
// scans: Message, a check looks at every one
MATCH (m:Message)
WHERE m.round IS NULL OR m.epoch IS NULL OR m.name IS NULL OR m.text IS NULL OR m.attributes IS NULL
   OR m.standing_names IS NULL OR m.standing_weights IS NULL
RETURN m.version, m.router LIMIT $limit
