// name: erasure/drop_texts
// purpose: every version of a client's text
// parameters: ref
MATCH (c:Client {ref: $ref})-[:HAS]->(p:ProfileVersion)
DETACH DELETE p
