// name: record/clients/client_ids
// purpose: the ids of clients by ref
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
RETURN collect([c.ref, c.id])
