// name: record/log/entries_before
// purpose: the newest log entries of some kinds before a sequence, newest first
// parameters: sequence, kinds, limit
UNWIND $kinds AS kind
CALL (kind) {
  MATCH (e:LogEntry)
  WHERE e.kind = kind AND e.sequence < $sequence
  RETURN e ORDER BY e.sequence DESC LIMIT $limit
}
RETURN e.sequence, e.kind, e.refs, e.number, e.at ORDER BY e.sequence DESC LIMIT $limit
