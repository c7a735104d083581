// name: forget/client/delete_parts
// purpose: delete the parts that erased clients contributed to messages
// parameters: erased_refs
MATCH ()-[t:INTEGRATED_INTO]->()
WHERE t.ref IN $erased_refs
DELETE t
