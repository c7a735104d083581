// name: record/log/log_end
// purpose: the last sequence, and the numbers of users and items
// parameters: none
MATCH (p:Progress {name: 'log'})
RETURN p.sequence, p.users, p.items
