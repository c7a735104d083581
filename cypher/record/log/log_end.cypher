// name: record/log/log_end
// purpose: the last sequence committed, and how many refs of users and items were given
// parameters: none
MATCH (p:Progress {name: 'log'})
RETURN p.sequence, p.users, p.items
