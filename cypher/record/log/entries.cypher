// name: record/log/entries
// purpose: entries of a part of the log that are no interaction, in order
// parameters: after, through
MATCH (e:LogEntry)
WHERE e.sequence > $after AND e.sequence <= $through
RETURN e.sequence, e.kind, e.refs, e.number, e.at ORDER BY e.sequence
