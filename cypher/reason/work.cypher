// name: reason/work
// purpose: who took part in interactions
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
WITH i ORDER BY i.sequence
RETURN collect([i.sequence, i.user, i.item, i.weight])
