// name: record/known
// purpose: which of these event ids are recorded, and the refs of these clients
// parameters: events, users, items
RETURN COLLECT { UNWIND $events AS id MATCH (i:Interaction {event_id: id}) RETURN [id, i.content_hash, i.sequence] } AS events,
  COLLECT { UNWIND $users AS id MATCH (u:User {id: id}) RETURN [id, u.ref] } AS users,
  COLLECT { UNWIND $items AS id MATCH (i:Item {id: id}) RETURN [id, i.ref] } AS items
