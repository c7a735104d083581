// name: maintenance/check/text_gaps
// purpose: profile versions that do not follow the one before them, where time travel answers
// parameters: limit
// scans: ProfileVersion, a check looks at every one
MATCH (kept:Progress {name: 'retention'})
MATCH (p:ProfileVersion)
WHERE p.version > 1 AND p.sequence > kept.oldest AND NOT EXISTS { MATCH (:ProfileVersion {ref: p.ref, version: p.version - 1}) }
RETURN p.ref, p.version LIMIT $limit
