// name: forget/search/version_gaps
// purpose: for clients of whom some versions of texts are not stored any more, the version after the last missing one: [ref, version]
// parameters: refs
MATCH (kept:Progress {name: 'retention'})
WHERE kept.oldest > 0
UNWIND $refs AS ref
CALL (ref) {
  MATCH (p:ProfileVersion)
  WHERE p.ref = ref AND p.version > 1 AND NOT EXISTS { MATCH (b:ProfileVersion {ref: p.ref, version: p.version - 1}) }
  RETURN p.version AS version ORDER BY p.version DESC LIMIT 1
}
RETURN collect([ref, version])
