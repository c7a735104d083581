// name: rounds/discard/delete_messages
// purpose: delete a batch of messages that an unfinished round staged; returns how many
// parameters: last, limit
MATCH (m:Message)
WHERE m.round > $last
WITH m LIMIT $limit
DETACH DELETE m
RETURN count(*)
