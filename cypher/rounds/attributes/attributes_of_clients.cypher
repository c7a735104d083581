// name: rounds/attributes/attributes_of_clients
// purpose: the attributes that clients held at the last round
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WHERE c.holds IS NOT NULL
RETURN collect([c.ref, c.holds])
