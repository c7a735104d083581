// name: record/log/set_log_end
// purpose: set the end of the log and the time of its commit
// parameters: sequence, at, users, items
MATCH (p:Progress {name: 'log'})
SET p.sequence = $sequence, p.at = $at, p.users = $users, p.items = $items
CREATE (:Commit {sequence: $sequence, at: $at})
