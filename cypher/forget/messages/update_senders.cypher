// name: forget/messages/update_senders
// purpose: set the first senders of messages, as forget/messages/first_senders returns them, and the only sender
// parameters: rows
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})
SET m.sender_refs = row[2], m.sender_attributes = [part IN row[3] | part[0]], m.sender_versions = [part IN row[3] | part[1]],
  m.sender_sequences = [part IN row[3] | part[2]], m.lone = row[4]
