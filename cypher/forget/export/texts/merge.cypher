// name: forget/export/texts/merge
// purpose: the messages that the client merged or dropped
// parameters: ref
MATCH (c:Client {ref: $ref})-[:HAS]->(p:ProfileVersion)
MATCH (p)<-[g:MERGED_INTO]-(m:Message)
RETURN {profile_version: p.version, router: m.router, router_version: m.version, outcome: g.outcome, sequence: g.sequence}
ORDER BY p.version, m.router
