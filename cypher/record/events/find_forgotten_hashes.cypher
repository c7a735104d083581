// name: record/events/find_forgotten_hashes
// purpose: which of these hashes of event ids are forgotten
// parameters: hashes
UNWIND $hashes AS hash
MATCH (f:Forgotten {event: hash})
RETURN f.event
