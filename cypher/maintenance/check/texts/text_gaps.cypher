// name: maintenance/check/texts/text_gaps
// purpose: versions of texts whose previous version is missing although retention did not delete it
// parameters: limit
// scans: ProfileVersion, a check looks at every one
MATCH (kept:Progress {name: 'retention'})
MATCH (p:ProfileVersion)
WHERE p.version > 1 AND p.sequence > kept.oldest AND p.follows_gap IS NULL
  AND NOT EXISTS { MATCH (:ProfileVersion {ref: p.ref, version: p.version - 1}) }
RETURN p.ref, p.version LIMIT $limit
