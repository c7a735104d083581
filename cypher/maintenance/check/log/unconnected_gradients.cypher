// name: maintenance/check/log/unconnected_gradients
// purpose: interactions to which a gradient of theirs is not connected
// parameters: limit
// scans: Gradient, a check looks at every one
MATCH (g:Gradient)
WHERE NOT EXISTS { (g)<-[:GAVE]-(:Interaction) } AND EXISTS { MATCH (i:Interaction) WHERE i.sequence = g.sequence }
RETURN DISTINCT g.sequence LIMIT $limit
