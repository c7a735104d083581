// name: forget/client/delete_gradients
// purpose: delete the gradients that name a deleted attribute
// parameters: modules, words
UNWIND $modules AS module
MATCH (g:Gradient)
WHERE g.module = module AND g.sequence > -1 AND g.owner > -1 AND any(word IN $words WHERE toLower(g.text) CONTAINS word OR word IN g.attributes)
DETACH DELETE g
