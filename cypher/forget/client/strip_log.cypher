// name: forget/client/strip_log
// purpose: remove the refs of clients that are erased from log entries: those of their contents, and those of some kinds
// parameters: erased_refs, kinds
CALL () {
  UNWIND $erased_refs AS ref
  MATCH (c:Client {ref: ref})
  RETURN c.sequence AS sequence
  UNION
  UNWIND $erased_refs AS ref
  MATCH (:Client {ref: ref})-[:WAS]->(b:ClientBefore)
  RETURN b.sequence AS sequence
  UNION
  UNWIND $kinds AS kind
  MATCH (e:LogEntry)
  WHERE e.kind = kind AND e.sequence > -1 AND any(ref IN e.refs WHERE ref IN $erased_refs)
  RETURN e.sequence AS sequence
}
MATCH (e:LogEntry {sequence: sequence})
SET e.refs = [ref IN e.refs WHERE NOT ref IN $erased_refs]
