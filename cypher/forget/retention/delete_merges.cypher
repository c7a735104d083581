// name: forget/retention/delete_merges
// purpose: drop what was merged up to a sequence, but of these messages, some a call; how many
// parameters: cited, before, limit
MATCH (m:Message)-[g:MERGED_INTO]->()
WHERE g.sequence <= $before AND NOT [m.router, m.version] IN $cited
WITH g LIMIT $limit
DELETE g
RETURN count(*)
