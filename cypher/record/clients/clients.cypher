// name: record/clients/clients
// purpose: clients by ref
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
RETURN collect([c.ref, c.id, c.title, c.description, c.attributes, c.categories, c.hidden, c.metadata, c.sequence, c.only_in_events])
