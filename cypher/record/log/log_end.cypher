// name: record/log/log_end
// purpose: the last sequence
// parameters: none
MATCH (p:Progress {name: 'log'})
RETURN p.sequence
