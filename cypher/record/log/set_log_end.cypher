// name: record/log/set_log_end
// purpose: the log now ends at this sequence, committed at this time
// parameters: sequence, at, users, items
MATCH (p:Progress {name: 'log'})
SET p.sequence = $sequence, p.at = $at, p.users = $users, p.items = $items
CREATE (:Commit {sequence: $sequence, at: $at})
