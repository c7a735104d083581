// name: forget/retention/bodies_at
// purpose: for one page of the versions after a sequence, in commit order: [number, ref, version, body] of the text that was current at the sequence and that the version followed; null, null, null if it followed another
// parameters: before, after, limit
MATCH (n:ProfileVersion)
USING INDEX n:ProfileVersion(number)
WHERE n.number > $after AND n.sequence > $before AND n.version > 1
WITH n ORDER BY n.number LIMIT $limit
OPTIONAL MATCH (p:ProfileVersion {ref: n.ref, version: n.version - 1})
WHERE p.sequence <= $before
RETURN collect([n.number, p.ref, p.version, p.body])
