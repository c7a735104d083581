// name: forget/export/interactions/dead_letter
// purpose: the client's interactions whose reasoning failed; the reason is left out, as a model's error may quote others
// parameters: ref
MATCH (c:Client {ref: $ref})
CALL (c) {
  MATCH (c)-[:DID]->(i:DeadLetter)
  RETURN i
  UNION
  MATCH (c)<-[:WITH]-(i:DeadLetter)
  RETURN i
}
RETURN {sequence: i.sequence} ORDER BY i.sequence
