// name: forget/retention/delete_merges
// purpose: delete a batch of merges up to a sequence, except those of the given messages; returns how many
// parameters: cited, before, limit
MATCH (m:Message)-[g:MERGED_INTO]->()
WHERE g.sequence <= $before AND NOT [m.router, m.version] IN $cited
WITH g LIMIT $limit
DELETE g
RETURN count(*)
