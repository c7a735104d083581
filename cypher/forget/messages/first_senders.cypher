// name: forget/messages/first_senders
// purpose: the first remaining senders of messages: their refs, and the attribute, profile version and sequence of each one's first part
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
RETURN collect([m.router, m.version, [sender IN senders | sender.ref], [sender IN senders | sender.part]])
