// name: record/events/lock_log_and_look_up
// purpose: lock the log; returns its end, the time of the commit, those of these event ids that are recorded or retracted, the refs of these clients, and the key under which event ids are hashed
// parameters: now, events, users, items
MATCH (p:Progress {name: 'log'})
SET p.locked = true
WITH p, coalesce($now, timestamp()) AS now
RETURN p.sequence, p.users, p.items, CASE WHEN now > p.at THEN now ELSE p.at END,
  COLLECT { UNWIND $events AS id MATCH (i:Interaction {event_id: id}) RETURN [id, i.content_hash, i.sequence] }
    + COLLECT { UNWIND $events AS id MATCH (r:Retracted {event_id: id}) RETURN [id, r.content_hash, r.sequence] } AS events,
  COLLECT { UNWIND $users AS id MATCH (u:User {id: id}) RETURN [id, u.ref] } AS users,
  COLLECT { UNWIND $items AS id MATCH (i:Item {id: id}) RETURN [id, i.ref] } AS items,
  head(COLLECT { MATCH (f:Progress {name: 'forgetting'}) RETURN f.key }) AS key
