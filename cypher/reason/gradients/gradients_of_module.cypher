// name: reason/gradients/gradients_of_module
// purpose: gradients of one kind of module after a sequence
// parameters: module, after, limit
MATCH (g:Gradient)
WHERE g.module = $module AND g.sequence > $after AND g.owner >= 0 AND EXISTS { (g)<-[:GAVE]-(:Interaction) }
RETURN g.sequence, g.module, g.owner, g.writer, g.reward, g.text, g.attributes, g.epoch ORDER BY g.sequence, g.owner, g.text LIMIT $limit
