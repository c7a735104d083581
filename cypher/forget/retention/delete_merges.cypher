// name: forget/retention/delete_merges
// purpose: delete a batch of the merges of messages; returns how many
// parameters: keys, limit
UNWIND $keys AS key
MATCH (:Message {router: key[0], version: key[1]})-[g:MERGED_INTO]->()
WITH g LIMIT $limit
DELETE g
RETURN count(*)
