// name: maintenance/check/routing/unpublished_watermarks
// purpose: versions of texts whose watermark is a round that was never published
// parameters: limit
// scans: ProfileVersion, a check looks at every one
OPTIONAL MATCH (d:Round)
WHERE d.number > 0
WITH coalesce(max(d.number), 0) AS last
MATCH (p:ProfileVersion)
WHERE p.watermark > last
RETURN p.ref, p.watermark LIMIT $limit
