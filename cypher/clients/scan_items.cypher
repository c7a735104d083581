// name: clients/scan_items
// purpose: a part of all items, in order of their refs
// parameters: after, limit
MATCH (c:Item)
WHERE c.ref > $after
RETURN c.ref, c.id, c.title, c.description, c.attributes, c.categories, c.hidden, c.metadata, c.sequence
ORDER BY c.ref LIMIT $limit
