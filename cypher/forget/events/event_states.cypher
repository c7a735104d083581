// name: forget/events/event_states
// purpose: which of these event ids are recorded and which are retracted, and the key under which forgotten event ids are hashed
// parameters: events
RETURN COLLECT { UNWIND $events AS id MATCH (i:Interaction {event_id: id}) RETURN [i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.prompts, i.fallback] } AS recorded,
  COLLECT { UNWIND $events AS id MATCH (r:Retracted {event_id: id}) RETURN id } AS retracted,
  head(COLLECT { MATCH (p:Progress {name: 'forgetting'}) RETURN p.key }) AS key
