// name: maintenance/check/log/unconnected_interactions
// purpose: interactions without their user, their item or their negative, or with another one
// parameters: limit
// scans: Interaction, a check looks at every one
MATCH (i:Interaction)
WHERE COUNT { (i)<-[:DID]-() } <> 1 OR COUNT { (i)-[:WITH]->() } <> 1
   OR NOT EXISTS { (i)<-[:DID]-(u) WHERE u.ref = i.user } OR NOT EXISTS { (i)-[:WITH]->(x) WHERE x.ref = i.item }
   OR COUNT { (i)-[:AGAINST]->() } <> CASE WHEN i.negative IS NULL THEN 0 ELSE 1 END
   OR (i.negative IS NOT NULL AND NOT EXISTS { (i)-[:AGAINST]->(n) WHERE n.ref = i.negative })
RETURN i.sequence, i.user, i.item, coalesce(toString(i.negative), 'none') LIMIT $limit
