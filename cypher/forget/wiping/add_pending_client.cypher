// name: forget/wiping/add_pending_client
// purpose: a client was forgotten, and its traces may still be there; how often that was
// parameters: ref
MATCH (p:Progress {name: 'forgetting'})
SET p.due = true, p.times = coalesce(p.times, 0) + 1, p.leaving = coalesce(p.leaving, []) + $ref
