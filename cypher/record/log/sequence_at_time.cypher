// name: record/log/sequence_at_time
// purpose: the last sequence committed at or before a time
// parameters: time
MATCH (c:Commit)
WHERE c.at <= $time AND c.sequence > 0
RETURN c.sequence ORDER BY c.at DESC, c.sequence DESC LIMIT 1
