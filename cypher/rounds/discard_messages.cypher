// name: rounds/discard_messages
// purpose: drop messages that an unfinished round staged, and what they came from
// parameters: last
MATCH (m:Message)
WHERE m.round > $last
CALL (m) {
  MATCH (m)<-[t:INTEGRATED_INTO]-()
  MATCH (p:ProfileVersion {ref: t.ref, version: t.profile_version})
  USING INDEX p:ProfileVersion(ref, version)
  MATCH (p)-[b:BROUGHT {router: m.router, version: m.version}]->()
  DELETE b
}
DETACH DELETE m
