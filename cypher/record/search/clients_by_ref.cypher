// name: record/search/clients_by_ref
// purpose: one page of all clients by ref, with what their words are made of, and their words
// parameters: after, limit
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN collect([c.ref, c.sequence, c.id, c.title, c.attributes, c.categories, c.words])
