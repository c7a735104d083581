// name: forget/retention/texts_that_read
// purpose: the profile versions that merged or dropped these messages: [ref, version], each once
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})-[:MERGED_INTO]->(p:ProfileVersion)
RETURN DISTINCT p.ref, p.version
