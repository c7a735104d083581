// name: record/search/clients_by_ref
// purpose: one page of all clients by ref, with what their words are made of
// parameters: after, limit
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN collect([c.ref, c.id, c.title, c.attributes, c.categories])
