// name: forget/client/delete_parts
// purpose: what a client brought to messages
// parameters: ref
MATCH ()-[t:INTEGRATED_INTO]->()
WHERE t.ref = $ref
DELETE t
