// name: forget/withdrawal/create_retracted_events
// purpose: of interactions that go: their ids and contents' hashes, so that a repeat is still a repeat
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
CREATE (:Retracted {sequence: i.sequence, event_id: i.event_id, content_hash: i.content_hash, user: i.user, item: i.item})
