// name: forget/export/texts/message_part
// purpose: the parts that a client contributed to messages
// parameters: ref
MATCH (a:Attribute)-[t:INTEGRATED_INTO]->(m:Message)
WHERE t.ref = $ref
RETURN {router: m.router, router_version: m.version, attribute: a.name, profile_version: t.profile_version, sequence: t.sequence}
ORDER BY m.router, m.version, a.name
