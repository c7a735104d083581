// name: record/log/create_entry
// purpose: one entry of the log that is no interaction
// parameters: sequence, kind, refs, number, at
CREATE (:LogEntry {sequence: $sequence, kind: $kind, refs: $refs, number: $number, at: $at})
