// name: maintenance/upgrade/strip_log
// purpose: remove the refs of clients that were erased from log entries of an older schema, a page by sequence; returns the last sequence of the page
// parameters: after, limit
MATCH (e:LogEntry)
WHERE e.sequence > $after
WITH e ORDER BY e.sequence LIMIT $limit
WITH collect(e) AS page
CALL (page) {
  UNWIND page AS e
  WITH e
  WHERE e.kind <> 'erasure'
  UNWIND e.refs AS ref
  WITH e, ref
  WHERE NOT EXISTS { MATCH (:Client {ref: ref}) }
  WITH e, collect(ref) AS gone
  SET e.refs = [ref IN e.refs WHERE NOT ref IN gone]
}
RETURN page[-1].sequence
