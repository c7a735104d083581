// name: reason/waiting
// purpose: the oldest learned interactions that are not reasoned
// parameters: after, through, limit
MATCH (i:Interaction)
WHERE i.sequence > $after AND i.sequence <= $through AND i.reasoned IS NULL
RETURN i.sequence, i.user ORDER BY i.sequence LIMIT $limit
