// name: forget/retention/replaced_texts
// purpose: versions of texts whose next remaining version was written at or before a sequence
// parameters: before
MATCH (n:ProfileVersion)
WHERE n.sequence <= $before AND n.version > 1
CALL (n) {
  MATCH (p:ProfileVersion {ref: n.ref})
  WHERE p.version < n.version
  RETURN p ORDER BY p.ref DESC, p.version DESC LIMIT 1
}
RETURN p.ref, p.version
