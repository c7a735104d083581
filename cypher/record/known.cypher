// name: record/known
// purpose: which of these event ids are recorded or were retracted, the refs of these clients, and the key of forgotten ids
// parameters: events, users, items
RETURN COLLECT { UNWIND $events AS id MATCH (i:Interaction {event_id: id}) RETURN [id, i.content_hash, i.sequence] }
    + COLLECT { UNWIND $events AS id MATCH (r:Retracted {event_id: id}) RETURN [id, r.content_hash, r.sequence] } AS events,
  COLLECT { UNWIND $users AS id MATCH (u:User {id: id}) RETURN [id, u.ref] } AS users,
  COLLECT { UNWIND $items AS id MATCH (i:Item {id: id}) RETURN [id, i.ref] } AS items,
  head(COLLECT { MATCH (p:Progress {name: 'forgetting'}) RETURN p.key }) AS key
