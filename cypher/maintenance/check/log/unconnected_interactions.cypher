// name: maintenance/check/log/unconnected_interactions
// purpose: interactions without their user or their item, or with another one
// parameters: limit
// scans: Interaction, a check looks at every one
MATCH (i:Interaction)
WHERE COUNT { (i)<-[:DID]-() } <> 1 OR COUNT { (i)-[:WITH]->() } <> 1
   OR NOT EXISTS { (i)<-[:DID]-(u) WHERE u.ref = i.user } OR NOT EXISTS { (i)-[:WITH]->(x) WHERE x.ref = i.item }
RETURN i.sequence, i.user, i.item LIMIT $limit
