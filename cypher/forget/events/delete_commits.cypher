// name: forget/events/delete_commits
// purpose: delete the commits, and with them the times, of interactions that are gaps now; a commit with other entries stays
// parameters: sequences
UNWIND $sequences AS sequence
MATCH (v:Vacant {sequence: sequence})
MATCH (c:Commit {at: v.at})
WHERE c.sequence >= sequence
WITH DISTINCT c
WITH c, head(COLLECT { MATCH (i:Interaction) WHERE i.sequence <= c.sequence RETURN i.at ORDER BY i.sequence DESC LIMIT 1 }) AS event,
  head(COLLECT { MATCH (e:LogEntry) WHERE e.sequence <= c.sequence RETURN e.at ORDER BY e.sequence DESC LIMIT 1 }) AS entry
WHERE NOT c.at IN [coalesce(event, -1), coalesce(entry, -1)]
DELETE c
