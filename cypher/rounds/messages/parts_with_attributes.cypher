// name: rounds/messages/parts_with_attributes
// purpose: the parts of messages that carry some attributes, in order, except those of one client
// parameters: keys, attributes, except_ref
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})
UNWIND $attributes AS name
CALL (m, name) {
  MATCH (a:Attribute {name: name})
  MATCH (a)-[t:INTEGRATED_INTO]->(m)
  WHERE t.ref <> $except_ref
  RETURN t
}
WITH m, name, t ORDER BY t.place
RETURN collect([m.router, m.version, name, t.ref, t.profile_version, t.sequence])
