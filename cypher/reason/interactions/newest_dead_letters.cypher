// name: reason/interactions/newest_dead_letters
// purpose: dead letters before a sequence with what is kept of their attempts, newest first
// parameters: before, limit
MATCH (i:DeadLetter)
WHERE i.sequence < $before
RETURN i.sequence, coalesce(i.failure, ''), coalesce(i.attempts, 0), coalesce(i.failed_at, 0), coalesce(i.asked, ''),
  coalesce(i.answered, ''), coalesce(i.queued, false) ORDER BY i.sequence DESC LIMIT $limit
