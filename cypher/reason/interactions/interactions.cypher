// name: reason/interactions/interactions
// purpose: interactions by sequence
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
RETURN collect([i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.prompts, i.fallback])
