// name: reason/gradients/gradients_of_owner
// purpose: gradients of one owner's module after a sequence
// parameters: module, owner, after, limit
MATCH (g:Gradient)
WHERE g.module = $module AND g.sequence > $after AND g.owner = $owner AND EXISTS { (g)<-[:GAVE]-(:Interaction) }
RETURN g.sequence, g.module, g.owner, g.writer, g.reward, g.text, g.attributes, g.epoch ORDER BY g.sequence, g.text LIMIT $limit
