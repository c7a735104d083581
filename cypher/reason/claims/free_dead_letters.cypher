// name: reason/claims/free_dead_letters
// purpose: the oldest dead letters that no claim holds
// parameters: held, limit
MATCH (i:DeadLetter)
WHERE i.sequence > 0 AND NOT i.sequence IN $held
RETURN i.sequence ORDER BY i.sequence LIMIT $limit
