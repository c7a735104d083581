// name: maintenance/check/texts/missing_current_texts
// purpose: clients whose current text is missing
// parameters: limit
// scans: Client, a check looks at every one
MATCH (c:Client)
WHERE c.version > 0 AND NOT EXISTS { MATCH (:ProfileVersion {ref: c.ref, version: c.version}) }
RETURN c.ref, c.version LIMIT $limit
