// name: record/log/create_entry
// purpose: create a log entry other than an interaction
// parameters: sequence, kind, refs, number, at
CREATE (:LogEntry {sequence: $sequence, kind: $kind, refs: $refs, number: $number, at: $at})
