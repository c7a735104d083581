// name: forget/events/newest_events_of_client
// purpose: the newest events of a client before a sequence, retracted ones among them, newest first
// parameters: ref, before, limit
CALL () {
  MATCH (:Client {ref: $ref})-[:DID]->(i:Interaction)
  WHERE i.sequence < $before
  RETURN i ORDER BY i.sequence DESC LIMIT $limit
  UNION ALL
  MATCH (:Client {ref: $ref})<-[:WITH]-(i:Interaction)
  WHERE i.sequence < $before
  RETURN i ORDER BY i.sequence DESC LIMIT $limit
  UNION ALL
  MATCH (i:Retracted)
  WHERE i.user = $ref AND i.sequence < $before
  RETURN i ORDER BY i.sequence DESC LIMIT $limit
  UNION ALL
  MATCH (i:Retracted)
  WHERE i.item = $ref AND i.sequence < $before
  RETURN i ORDER BY i.sequence DESC LIMIT $limit
}
WITH i ORDER BY i.sequence DESC LIMIT $limit
RETURN collect([i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.at, i.metadata, i:Retracted])
