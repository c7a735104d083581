// name: reason/claims/oldest_dead_letters
// purpose: the oldest dead letters that are queued to be tried again, and the user of each
// parameters: limit
MATCH (i:DeadLetter)
WHERE i.queued = true AND i.sequence > 0
RETURN i.sequence, i.user ORDER BY i.sequence LIMIT $limit
