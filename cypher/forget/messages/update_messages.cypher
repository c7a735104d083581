// name: forget/messages/update_messages
// purpose: set new contents of messages
// parameters: rows
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})
SET m.name = row[2], m.text = row[3], m.attributes = row[4], m.standing_names = row[5], m.standing_weights = row[6]
