// name: forget/events/create_retracted_events
// purpose: keep the ids and content hashes of withdrawn interactions, so that a repeat is still recognized
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
CREATE (:Retracted {sequence: i.sequence, event_id: i.event_id, content_hash: i.content_hash, user: i.user, item: i.item})
