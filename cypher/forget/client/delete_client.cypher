// name: forget/client/delete_client
// purpose: a client goes with what it was, and is nobody's negative any more: any repeat of such an event is a repeat
// parameters: ref
MATCH (c:Client {ref: $ref})
CALL (c) {
  MATCH (c)-[:WAS]->(b:ClientBefore)
  DETACH DELETE b
}
CALL (c) {
  MATCH (c)<-[:AGAINST]-(i:Interaction)
  SET i.content_hash = ''
  REMOVE i.negative
}
DETACH DELETE c
