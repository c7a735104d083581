// name: forget/client/delete_parts
// purpose: delete the parts that erased clients contributed to messages
// parameters: gone
MATCH ()-[t:INTEGRATED_INTO]->()
WHERE t.ref IN $gone
DELETE t
