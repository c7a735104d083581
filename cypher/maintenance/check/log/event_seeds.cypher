// name: maintenance/check/log/event_seeds
// purpose: one page of all interactions by sequence, with the ids of their events and their seeds
// parameters: after, limit
MATCH (i:Interaction)
WHERE i.sequence > $after
WITH i ORDER BY i.sequence LIMIT $limit
RETURN collect([i.sequence, i.event_id, i.seed])
