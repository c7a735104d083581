// name: reason/texts/bodies_after
// purpose: one page of all versions of texts in commit order: [number, ref, version, body]
// parameters: after, limit
MATCH (p:ProfileVersion)
WHERE p.number > $after
WITH p ORDER BY p.number LIMIT $limit
RETURN collect([p.number, p.ref, p.version, p.body])
