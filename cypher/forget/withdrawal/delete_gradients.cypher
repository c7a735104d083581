// name: forget/withdrawal/delete_gradients
// purpose: delete gradients
// parameters: ids
UNWIND $ids AS id
MATCH (g:Gradient) WHERE elementId(g) = id
DETACH DELETE g
