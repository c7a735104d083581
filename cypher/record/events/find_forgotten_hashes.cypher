// name: record/events/find_forgotten_hashes
// purpose: those of these hashes of event ids that are forgotten
// parameters: hashes
UNWIND $hashes AS hash
MATCH (f:Forgotten {event: hash})
RETURN f.event
