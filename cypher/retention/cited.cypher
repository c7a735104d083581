// name: retention/cited
// purpose: the messages that a live line cites: [router, version], each once
// parameters: none
// scans: Client, every current text is looked at
MATCH (c:Client)
WHERE c.version > 0
MATCH (p:ProfileVersion {ref: c.ref, version: c.version})
UNWIND range(0, size(p.source_routers) - 1) AS place
WITH p.source_routers[place] AS router, p.source_versions[place] AS version
WHERE router >= 0
RETURN DISTINCT router, version
