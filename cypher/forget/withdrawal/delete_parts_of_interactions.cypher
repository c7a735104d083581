// name: forget/withdrawal/delete_parts_of_interactions
// purpose: delete the parts that interactions contributed to messages
// parameters: keys, sequences
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})<-[t:INTEGRATED_INTO]-()
WHERE t.sequence IN $sequences
CALL (m, t) {
  MATCH (p:ProfileVersion {ref: t.ref, version: t.profile_version})
  USING INDEX p:ProfileVersion(ref, version)
  MATCH (p)-[b:BROUGHT {router: m.router, version: m.version, sequence: t.sequence}]->()
  DELETE b
}
DELETE t
