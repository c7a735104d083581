// name: record/clients/client_contents
// purpose: all contents of clients, current and earlier
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
CALL (c) {
  RETURN c AS had
  UNION ALL
  MATCH (c)-[:WAS]->(b:ClientBefore)
  RETURN b AS had
}
WITH c, had ORDER BY c.ref, had.sequence
RETURN collect([c.ref, c.id, had.title, had.description, had.attributes, had.categories, had.hidden, had.metadata, had.sequence, had.only_in_events])
