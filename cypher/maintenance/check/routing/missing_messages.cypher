// name: maintenance/check/routing/missing_messages
// purpose: rounds with more or fewer stored messages than the round says: [messages that it says, round, messages stored]
// parameters: limit
MATCH (d:Round)
WHERE d.number > 0 AND d.messages IS NOT NULL
WITH d, COUNT { MATCH (m:Message) WHERE m.round = d.number } AS stored
WHERE stored <> d.messages
RETURN d.messages, d.number, stored LIMIT $limit
