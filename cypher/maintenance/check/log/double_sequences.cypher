// name: maintenance/check/log/double_sequences
// purpose: sequences that belong to both an interaction and another log entry
// parameters: limit
MATCH (e:LogEntry)
WHERE e.sequence > 0
MATCH (i:Interaction {sequence: e.sequence})
RETURN e.sequence LIMIT $limit
