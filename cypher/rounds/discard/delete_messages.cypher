// name: rounds/discard/delete_messages
// purpose: drop messages that an unfinished round staged, some a call; how many
// parameters: last, limit
MATCH (m:Message)
WHERE m.round > $last
WITH m LIMIT $limit
DETACH DELETE m
RETURN count(*)
