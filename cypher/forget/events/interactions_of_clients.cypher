// name: forget/events/interactions_of_clients
// purpose: all interactions of clients, as user or as positive item
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
CALL (c) {
  MATCH (c)-[:DID]->(i:Interaction)
  RETURN i
  UNION ALL
  MATCH (c)<-[:WITH]-(i:Interaction)
  RETURN i
}
WITH DISTINCT i ORDER BY i.sequence
RETURN collect([i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.prompts, i.fallback])
