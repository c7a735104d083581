// name: reason/work
// purpose: who took part in interactions
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
RETURN i.sequence, i.user, i.item, i.weight ORDER BY i.sequence
