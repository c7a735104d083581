// name: reason/claims/unmark_dead_letters
// purpose: unmark dead letters that were reasoned after all
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (i:Interaction {sequence: sequence})
REMOVE i:DeadLetter, i.attempts, i.asked, i.answered, i.failed_at, i.queued
