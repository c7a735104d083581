// name: forget/retention/text_states
// purpose: for versions of texts, the sequence of the next remaining version, and whether a message has a part of the version or was merged into it
// parameters: keys
UNWIND $keys AS key
WITH key[0] AS ref, collect(key[1]) AS versions
WITH ref, versions, COLLECT { MATCH ()-[t:INTEGRATED_INTO]->()
                              WHERE t.ref = ref AND t.profile_version IN versions
                              RETURN DISTINCT t.profile_version } AS with_parts
UNWIND versions AS version
MATCH (p:ProfileVersion {ref: ref, version: version})
RETURN p.ref, p.version,
       head(COLLECT { MATCH (n:ProfileVersion {ref: p.ref})
                      WHERE n.version > p.version
                      RETURN n.sequence ORDER BY n.version LIMIT 1 }),
       version IN with_parts OR EXISTS { MATCH ()-[:MERGED_INTO]->(p) }
