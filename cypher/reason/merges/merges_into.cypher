// name: reason/merges/merges_into
// purpose: the messages that were merged into versions of a client's text, or dropped
// parameters: ref, versions
UNWIND $versions AS version
MATCH (p:ProfileVersion {ref: $ref, version: version})<-[g:MERGED_INTO]-(m:Message)
RETURN p.ref, p.version, m.router, m.version, g.outcome ORDER BY p.version, m.router, g.number
