// name: record/events/store_forgotten_hashes
// purpose: store hashes of forgotten event ids
// parameters: hashes
UNWIND $hashes AS hash
MERGE (:Forgotten {event: hash})
