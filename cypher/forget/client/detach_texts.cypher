// name: forget/client/detach_texts
// purpose: detach all versions of a client's text, its lines and its rules; the sweep deletes them in batches
// parameters: ref
MATCH (c:Client {ref: $ref})-[:HAS|SAYS|FILTERS_BY]->(p)
SET p:Leaving
REMOVE p:ProfileVersion:Line:FilterRule
