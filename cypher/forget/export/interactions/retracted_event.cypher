// name: forget/export/interactions/retracted_event
// purpose: the client's retracted events
// parameters: ref
CALL () {
  MATCH (r:Retracted)
  WHERE r.user = $ref
  RETURN r
  UNION
  MATCH (r:Retracted)
  WHERE r.item = $ref
  RETURN r
}
OPTIONAL MATCH (u:User {ref: r.user})
OPTIONAL MATCH (t:Item {ref: r.item})
RETURN {sequence: r.sequence, event_id: r.event_id, user: 'user:' + u.id, item: 'item:' + t.id} ORDER BY r.sequence
