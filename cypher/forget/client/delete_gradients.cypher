// name: forget/client/delete_gradients
// purpose: what was said that names an attribute that is gone
// parameters: modules, words
UNWIND $modules AS module
MATCH (g:Gradient)
WHERE g.module = module AND g.sequence > -1 AND g.owner > -1 AND any(word IN $words WHERE g.text CONTAINS word OR word IN g.attributes)
DETACH DELETE g
