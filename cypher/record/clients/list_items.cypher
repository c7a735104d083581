// name: record/clients/list_items
// purpose: a part of all items, in order of their refs
// parameters: after, limit
MATCH (c:Item)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN collect([c.ref, c.id, c.title, c.description, c.attributes, c.categories, c.hidden, c.metadata, c.sequence])
