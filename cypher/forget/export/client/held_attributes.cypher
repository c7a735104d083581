// name: forget/export/client/held_attributes
// purpose: the client's attributes at the last round
// parameters: ref
MATCH (c:Client {ref: $ref})
WHERE c.holds IS NOT NULL
RETURN {names: c.holds}
