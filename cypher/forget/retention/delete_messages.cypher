// name: forget/retention/delete_messages
// purpose: delete messages and their parts; returns how many
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})
CALL (m) {
  MATCH (m)<-[t:INTEGRATED_INTO]-()
  MATCH (p:ProfileVersion {ref: t.ref, version: t.profile_version})
  USING INDEX p:ProfileVersion(ref, version)
  MATCH (p)-[b:BROUGHT {router: m.router, version: m.version}]->()
  DELETE b
}
WITH m, m.round AS number
DETACH DELETE m
WITH number, count(*) AS deleted
MATCH (d:Round {number: number})
SET d.messages = d.messages - deleted
RETURN sum(deleted)
