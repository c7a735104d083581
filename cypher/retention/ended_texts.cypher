// name: retention/ended_texts
// purpose: profile versions whose next one was written at or before a sequence
// parameters: before
MATCH (n:ProfileVersion)
WHERE n.sequence <= $before AND n.version > 1
MATCH (p:ProfileVersion {ref: n.ref, version: n.version - 1})
RETURN p.ref, p.version
