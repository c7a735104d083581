// name: rounds/messages/senders
// purpose: for each message, the first part of each sender, for the senders with the lowest refs
// parameters: keys, senders
UNWIND $keys AS key
CALL (key) {
  MATCH (m:Message {router: key[0], version: key[1]})<-[t:INTEGRATED_INTO]-(a:Attribute)
  WITH a, t ORDER BY t.place
  WITH t.ref AS ref, head(collect([a.name, t.ref, t.profile_version, t.sequence])) AS part ORDER BY ref LIMIT $senders
  RETURN part
}
RETURN key[0], key[1], part
