// name: forget/client/delete_parts
// purpose: delete the parts that a client contributed to messages
// parameters: ref
MATCH ()-[t:INTEGRATED_INTO]->()
WHERE t.ref = $ref
DELETE t
