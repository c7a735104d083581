// name: forget/retention/texts_that_read
// purpose: the versions of texts that merged or dropped messages: [ref, version], each once
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})-[:MERGED_INTO]->(p:ProfileVersion)
RETURN DISTINCT p.ref, p.version
