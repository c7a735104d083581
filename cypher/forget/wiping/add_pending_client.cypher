// name: forget/wiping/add_pending_client
// purpose: note that traces of forgotten clients may remain, and count the erasure
// parameters: erased_refs
MATCH (p:Progress {name: 'forgetting'})
SET p.due = true, p.times = coalesce(p.times, 0) + 1, p.leaving = coalesce(p.leaving, []) + $erased_refs
