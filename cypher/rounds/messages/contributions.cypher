// name: rounds/messages/contributions
// purpose: the parts that a client contributed to published messages, newest round first
// parameters: ref
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0
  RETURN d.number AS last ORDER BY d.number DESC LIMIT 1
}
MATCH (a:Attribute)-[t:INTEGRATED_INTO]->(m:Message)
WHERE t.ref = $ref AND m.round <= last
RETURN m.router, m.version, a.name, t.ref, t.profile_version, t.sequence ORDER BY m.round DESC, m.router, t.place
