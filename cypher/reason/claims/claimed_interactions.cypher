// name: reason/claims/claimed_interactions
// purpose: the users, items and weights of interactions, and those of the drawn items that still exist
// parameters: sequences, drawn
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
WITH i ORDER BY i.sequence
WITH collect([i.sequence, i.user, i.item, i.weight]) AS works
RETURN works, COLLECT { UNWIND $drawn AS ref MATCH (c:Item {ref: ref}) RETURN ref } AS items
