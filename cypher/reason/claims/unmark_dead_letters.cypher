// name: reason/claims/unmark_dead_letters
// purpose: dead letters that are none any more
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
REMOVE i:DeadLetter
