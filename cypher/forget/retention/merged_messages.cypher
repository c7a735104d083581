// name: forget/retention/merged_messages
// purpose: messages that a client merged or dropped at or before a sequence: [router, version], each once
// parameters: before
MATCH (m:Message)-[g:MERGED_INTO]->()
WHERE g.sequence <= $before
RETURN DISTINCT m.router, m.version
