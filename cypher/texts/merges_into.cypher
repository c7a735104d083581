// name: texts/merges_into
// purpose: what a client merged or dropped, newest first
// parameters: ref, limit
MATCH (m:Message)-[g:MERGED_INTO]->(p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0
RETURN p.ref, p.version, m.router, m.version, g.outcome ORDER BY p.version DESC, m.router LIMIT $limit
