// name: erasure/drop_modules
// purpose: what was said of a client's own modules
// parameters: ref, modules
UNWIND $modules AS module
MATCH (g:Gradient)
WHERE g.module = module AND g.sequence > -1 AND g.owner = $ref
DETACH DELETE g
