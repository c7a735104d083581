// name: reason/claims/pending_interactions
// purpose: the oldest interactions that are learned but not reasoned
// parameters: after, through, limit
MATCH (i:Interaction)
WHERE i.sequence > $after AND i.sequence <= $through AND i.reasoned IS NULL
WITH i ORDER BY i.sequence LIMIT $limit
RETURN collect([i.sequence, i.user])
