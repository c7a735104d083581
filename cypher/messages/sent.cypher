// name: messages/sent
// purpose: the messages of some rounds: router, round, version and the client that it comes from alone, as columns
// parameters: after, through
MATCH (m:Message)
WHERE m.round > $after AND m.round <= $through
RETURN collect(m.router), collect(m.round), collect(m.version), collect(coalesce(m.lone, -1))
