// name: reason/claims/mark_dead_letters
// purpose: mark interactions as dead letters: their reasoning failed for good. Attempts of earlier replays count, too
// parameters: rows, now
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
SET i:DeadLetter, i.attempts = coalesce(i.attempts, 0) + row[1], i.asked = row[2], i.answered = row[3],
  i.failed_at = coalesce($now, timestamp())
REMOVE i.queued
