// name: forget/retention/bodies_at
// purpose: the bodies of texts that were current at a sequence and are not any more
// parameters: before
MATCH (n:ProfileVersion)
WHERE n.sequence > $before AND n.version > 1
MATCH (p:ProfileVersion {ref: n.ref, version: n.version - 1})
WHERE p.sequence <= $before
RETURN collect(p.body)
