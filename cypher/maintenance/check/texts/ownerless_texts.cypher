// name: maintenance/check/texts/ownerless_texts
// purpose: versions of texts that belong to no client
// parameters: limit
// scans: ProfileVersion, a check looks at every one
MATCH (p:ProfileVersion)
WHERE NOT EXISTS { (p)<-[:HAS]-(:Client) }
RETURN p.ref, p.version LIMIT $limit
