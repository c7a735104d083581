// name: record/clients/clients_as_of
// purpose: clients by ref as they were at a sequence
// parameters: refs, as_of
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
CALL (c) {
  OPTIONAL MATCH (c)-[:WAS]->(b:ClientBefore)
  WHERE b.until > $as_of
  RETURN b ORDER BY b.until LIMIT 1
}
WITH c, coalesce(b, c) AS was
RETURN collect([c.ref, c.id, was.title, was.description, was.attributes, was.categories, was.hidden, was.metadata, was.sequence, c.only_in_events])
