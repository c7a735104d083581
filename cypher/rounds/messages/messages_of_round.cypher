// name: rounds/messages/messages_of_round
// purpose: what a round sent: keys
// parameters: round
MATCH (m:Message)
WHERE m.round = $round
RETURN m.router, m.version ORDER BY m.router
