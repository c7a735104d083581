// name: reason/texts/lock_clients
// purpose: lock clients until the transaction ends; returns the versions of their texts
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
SET c.locked = true
RETURN collect([c.ref, c.version])
