// name: forget/messages/reduce_messages
// purpose: delete the parts of messages that interactions brought, and the parts with an attribute that a message loses
// parameters: rows, sequences
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})<-[t:INTEGRATED_INTO]-(a:Attribute)
WHERE t.sequence IN $sequences OR a.name IN row[2]
CALL (m, a, t) {
  MATCH (p:ProfileVersion {ref: t.ref, version: t.profile_version})
  USING INDEX p:ProfileVersion(ref, version)
  MATCH (p)-[b:BROUGHT {router: m.router, version: m.version, sequence: t.sequence}]->(a)
  DELETE b
}
DELETE t
