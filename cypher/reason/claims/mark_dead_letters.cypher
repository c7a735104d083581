// name: reason/claims/mark_dead_letters
// purpose: mark interactions as dead letters: their reasoning failed for good
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
SET i:DeadLetter
