// name: maintenance/check/missing_messages
// purpose: rounds of whose messages other than the stored number should be stored: [number that should be, round, number that is]
// parameters: limit
MATCH (d:Round)
WHERE d.number > 0 AND d.messages IS NOT NULL
WITH d, COUNT { MATCH (m:Message) WHERE m.round = d.number } AS stored
WHERE stored <> d.messages
RETURN d.messages, d.number, stored LIMIT $limit
