// name: forget/messages/readers_of_messages
// purpose: the clients that merged or dropped messages, with the version of their text
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})-[g:MERGED_INTO]->(p:ProfileVersion)
WITH m, g, p ORDER BY m.router, m.version, p.ref, p.version
RETURN collect([p.ref, p.version, m.router, m.version, g.outcome])
