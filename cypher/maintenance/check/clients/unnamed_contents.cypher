// name: maintenance/check/clients/unnamed_contents
// purpose: contents of clients, present and earlier, that their entry of the log does not name: [sequence, ref]
// parameters: limit
// scans: Client and ClientBefore, a check looks at every one
CALL () {
  MATCH (c:Client)
  RETURN c.sequence AS sequence, c.ref AS ref
  UNION ALL
  MATCH (c:Client)-[:WAS]->(b:ClientBefore)
  RETURN b.sequence AS sequence, c.ref AS ref
}
WITH sequence, ref
WHERE NOT EXISTS { MATCH (e:LogEntry {sequence: sequence}) WHERE e.kind = 'clients' AND ref IN e.refs }
RETURN sequence, ref LIMIT $limit
