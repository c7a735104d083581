// name: forget/client/detach_texts
// purpose: no version of a client's text is one from now on; they go in parts
// parameters: ref
MATCH (c:Client {ref: $ref})-[:HAS]->(p:ProfileVersion)
SET p:Leaving
REMOVE p:ProfileVersion
