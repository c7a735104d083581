// name: record/clients/list_users
// purpose: one page of all users by ref
// parameters: after, limit
MATCH (c:User)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN collect([c.ref, c.id, c.title, c.description, c.attributes, c.categories, c.hidden, c.metadata, c.sequence, c.only_in_events])
