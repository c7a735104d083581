// name: forget/client/detach_texts
// purpose: detach all versions of a client's text; the sweep deletes them in batches
// parameters: ref
MATCH (c:Client {ref: $ref})-[:HAS]->(p:ProfileVersion)
SET p:Leaving
REMOVE p:ProfileVersion
