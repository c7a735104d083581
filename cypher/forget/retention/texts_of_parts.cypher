// name: forget/retention/texts_of_parts
// purpose: the versions of texts that contributed to messages: [ref, version], each once
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})<-[t:INTEGRATED_INTO]-()
RETURN DISTINCT t.ref, t.profile_version
