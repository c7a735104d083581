// name: record/events/store_forgotten_hashes
// purpose: event ids that were forgotten, as keyed hashes
// parameters: hashes
UNWIND $hashes AS hash
MERGE (:Forgotten {event: hash})
