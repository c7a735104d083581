// name: rounds/messages/messages
// purpose: published messages by router and version, with at most two of their senders
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})
MATCH (d:Round {number: m.round})
RETURN collect([m.router, m.version, m.round, m.epoch, m.name, m.text, m.attributes, m.standing_names, m.standing_weights,
  d.sequence, m.sender_attributes, m.sender_refs, m.sender_versions, m.sender_sequences,
  m.written_by])
