// name: schema/0004_dead_letters
// purpose: the index of dead letters that are queued to be tried again
// parameters: none
CREATE INDEX dead_letter_queued IF NOT EXISTS FOR (i:DeadLetter) ON (i.queued, i.sequence);
