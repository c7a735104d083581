// name: record/log/time_of_next
// purpose: when the first entry of the log above a sequence was committed
// parameters: after
CALL () {
  MATCH (i:Interaction) WHERE i.sequence > $after
  RETURN i.at AS at ORDER BY i.sequence LIMIT 1
  UNION ALL
  MATCH (e:LogEntry) WHERE e.sequence > $after
  RETURN e.at AS at ORDER BY e.sequence LIMIT 1
}
RETURN min(at)
