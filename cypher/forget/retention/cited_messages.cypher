// name: forget/retention/cited_messages
// purpose: the messages that a current text cites, or a text that was current at a sequence: [router, version], each once
// parameters: before
// scans: Client, every current text is looked at
CALL () {
  MATCH (c:Client)
  WHERE c.version > 0
  MATCH (p:ProfileVersion {ref: c.ref, version: c.version})
  RETURN p
  UNION
  MATCH (n:ProfileVersion)
  WHERE n.sequence > $before AND n.version > 1
  MATCH (p:ProfileVersion {ref: n.ref, version: n.version - 1})
  WHERE p.sequence <= $before
  RETURN p
}
UNWIND range(0, size(p.source_routers) - 1) AS place
WITH p.source_routers[place] AS router, p.source_versions[place] AS version
WHERE router >= 0
RETURN DISTINCT router, version
