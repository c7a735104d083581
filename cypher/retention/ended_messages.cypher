// name: retention/ended_messages
// purpose: messages whose router's next one was published at or before a sequence, and that nobody merged since
// parameters: before
MATCH (d:Round)
WHERE d.number > 0 AND d.sequence <= $before
MATCH (n:Message {round: d.number})
MATCH (m:Message {router: n.router, version: n.version - 1})
WHERE NOT EXISTS { MATCH (m)-[g:MERGED_INTO]->() WHERE g.sequence > $before }
RETURN m.router, m.version
