// name: record/log/entries
// purpose: the log entries of a part of the log other than interactions, in order
// parameters: after, through
MATCH (e:LogEntry)
WHERE e.sequence > $after AND e.sequence <= $through
RETURN e.sequence, e.kind, e.refs, e.number, e.at ORDER BY e.sequence
