// name: forget/client/detach_texts
// purpose: detach all versions of erased clients' texts, their lines and their rules; the sweep deletes them in batches
// parameters: erased_refs
UNWIND $erased_refs AS ref
MATCH (c:Client {ref: ref})-[:HAS|SAYS|FILTERS_BY]->(p)
SET p:Leaving
REMOVE p:ProfileVersion:Line:FilterRule
