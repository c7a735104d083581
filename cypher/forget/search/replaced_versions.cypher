// name: forget/search/replaced_versions
// purpose: the versions of texts that a newer one had replaced by a sequence: [ref, version]
// parameters: by
MATCH (n:ProfileVersion)
USING INDEX n:ProfileVersion(sequence)
WHERE n.sequence <= $by
WITH n.ref AS ref, max(n.version) AS shown
MATCH (p:ProfileVersion)
WHERE p.ref = ref AND p.version < shown
RETURN collect([p.ref, p.version])
