// name: forget/events/recorded_interactions
// purpose: which of these interactions are recorded
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
RETURN i.sequence, i.event_id ORDER BY i.sequence
