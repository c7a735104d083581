// name: reason/texts/lock_clients
// purpose: hold clients until the transaction ends; the version of each one's text
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
SET c.locked = true
RETURN collect([c.ref, c.version])
