// name: maintenance/check/clients/missing_contents
// purpose: contents of clients that the log names and that are missing: [sequence, ref]
// parameters: limit
// scans: LogEntry, a check looks at every one
MATCH (e:LogEntry)
WHERE e.kind = 'clients'
UNWIND e.refs AS ref
WITH e.sequence AS sequence, ref
WHERE NOT EXISTS { MATCH (c:Client {ref: ref}) WHERE c.sequence = sequence }
  AND NOT EXISTS { MATCH (:Client {ref: ref})-[:WAS]->(b:ClientBefore) WHERE b.sequence = sequence }
RETURN sequence, ref LIMIT $limit
