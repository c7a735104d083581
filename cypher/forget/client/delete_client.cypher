// name: forget/client/delete_client
// purpose: delete erased clients with their earlier contents, and remove them from interactions in which they are the negative: any event with the id of such an interaction then counts as its repeat
// parameters: erased_refs
UNWIND $erased_refs AS ref
MATCH (c:Client {ref: ref})
CALL (c) {
  MATCH (c)-[:WAS]->(b:ClientBefore)
  DETACH DELETE b
}
CALL (c) {
  MATCH (c)<-[:AGAINST]-(i:Interaction)
  SET i.content_hash = ''
  REMOVE i.negative
}
CALL (c) {
  MATCH (c)<-[e:ROUTES_TO]-()
  WITH e.opened AS number, count(*) AS deleted
  MATCH (d:Round {number: number})
  SET d.edges = d.edges - deleted
}
DETACH DELETE c
