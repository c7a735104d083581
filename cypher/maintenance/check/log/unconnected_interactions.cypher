// name: maintenance/check/log/unconnected_interactions
// purpose: interactions without their user or their item
// parameters: limit
// scans: Interaction, a check looks at every one
MATCH (i:Interaction)
WHERE COUNT { (i)<-[:DID]-() } <> 1 OR COUNT { (i)-[:WITH]->() } <> 1
RETURN i.sequence, i.user, i.item LIMIT $limit
