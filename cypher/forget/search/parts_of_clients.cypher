// name: forget/search/parts_of_clients
// purpose: parts of messages that clients brought, those of some interactions only where they are given
// parameters: refs, sequences
UNWIND $refs AS ref
MATCH (a:Attribute)-[t:INTEGRATED_INTO]->(m:Message)
WHERE t.ref = ref AND ($sequences IS NULL OR t.sequence IN $sequences)
RETURN m.router, m.version, a.name, t.ref, t.profile_version, t.sequence ORDER BY m.router, m.version, t.place
