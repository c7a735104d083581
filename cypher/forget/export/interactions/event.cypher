// name: forget/export/interactions/event
// purpose: the interactions that name the client
// parameters: ref
MATCH (c:Client {ref: $ref})
CALL (c) {
  MATCH (c)-[:DID]->(i:Interaction)
  RETURN i
  UNION
  MATCH (c)<-[:WITH]-(i:Interaction)
  RETURN i
  UNION
  MATCH (c)<-[:AGAINST]-(i:Interaction)
  RETURN i
}
MATCH (u:User)-[:DID]->(i)
MATCH (i)-[:WITH]->(t:Item)
OPTIONAL MATCH (i)-[:AGAINST]->(n:Item)
RETURN {sequence: i.sequence, event_id: i.event_id, user: 'user:' + u.id, item: 'item:' + t.id, negative: 'item:' + n.id, time: i.time,
  weight: i.weight, recorded_at: i.at, metadata: i.metadata} ORDER BY i.sequence
