// name: reason/interactions/interaction_of_event
// purpose: the interaction with an event id
// parameters: event_id
MATCH (i:Interaction {event_id: $event_id})
RETURN i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.prompts, i.fallback
