// name: reason/interactions/list_dead_letters
// purpose: dead letters, oldest first
// parameters: limit
MATCH (i:DeadLetter)
WHERE i.sequence > 0
RETURN i.sequence, i.failure ORDER BY i.sequence LIMIT $limit
