// name: forget/messages/parts_of_clients
// purpose: the parts of messages that clients contributed by some interactions, and all parts of erased clients, with the messages' rounds
// parameters: refs, sequences, erased_refs
UNWIND $refs AS ref
MATCH (a:Attribute)-[t:INTEGRATED_INTO]->(m:Message)
WHERE t.ref = ref AND (ref IN $erased_refs OR t.sequence IN $sequences)
WITH m, a, t ORDER BY m.router, m.version, t.place
RETURN collect([m.router, m.version, m.round, a.name, t.ref, t.profile_version, t.sequence])
