// name: rounds/messages/messages_of_round
// purpose: the keys of the messages of a published round
// parameters: round
MATCH (m:Message)
WHERE m.round = $round
RETURN m.router, m.version ORDER BY m.router
