// name: forget/progress/set_checked_round
// purpose: store the number of the newest round at or before a sequence: a run of retention has checked all edges that closed up to this round
// parameters: before
MATCH (r:Progress {name: 'retention'})
SET r.locked = true
WITH r, head(COLLECT { MATCH (d:Round) WHERE d.number > coalesce(r.edges, 0) AND d.sequence <= $before
                       RETURN d.number ORDER BY d.number DESC LIMIT 1 }) AS round
WHERE round IS NOT NULL
SET r.edges = round
