// name: forget/progress/oldest_sequence
// purpose: the oldest sequence that time travel can answer
// parameters: none
MATCH (p:Progress {name: 'retention'})
RETURN p.oldest
