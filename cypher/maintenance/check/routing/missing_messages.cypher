// name: maintenance/check/routing/missing_messages
// purpose: rounds with more or fewer stored messages than they should have: [messages that should be stored, round, messages that are]
// parameters: limit
MATCH (d:Round)
WHERE d.number > 0 AND d.messages IS NOT NULL
WITH d, COUNT { MATCH (m:Message) WHERE m.round = d.number } AS stored
WHERE stored <> d.messages
RETURN d.messages, d.number, stored LIMIT $limit
