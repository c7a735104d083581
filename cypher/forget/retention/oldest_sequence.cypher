// name: forget/retention/oldest_sequence
// purpose: the sequence from which on time travel answers
// parameters: none
MATCH (p:Progress {name: 'retention'})
RETURN p.oldest
