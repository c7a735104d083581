// name: forget/messages/update_senders
// purpose: set the remaining senders of messages that lost parts
// parameters: keys, senders
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})
WITH m, COLLECT {
  MATCH (m)<-[t:INTEGRATED_INTO]-(a:Attribute)
  WITH a, t ORDER BY t.place
  WITH t.ref AS ref, min(t.place) AS place, head(collect([a.name, t.profile_version, t.sequence])) AS part
  ORDER BY place LIMIT $senders
  RETURN {ref: ref, part: part}
} AS senders
SET m.lone = CASE WHEN size(senders) = 1 THEN senders[0].ref END, m.sender_refs = [sender IN senders | sender.ref],
  m.sender_attributes = [sender IN senders | sender.part[0]], m.sender_versions = [sender IN senders | sender.part[1]],
  m.sender_sequences = [sender IN senders | sender.part[2]]
