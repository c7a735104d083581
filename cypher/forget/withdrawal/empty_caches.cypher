// name: forget/withdrawal/empty_caches
// purpose: delete the facts that are caches
// parameters: prefix
MATCH (f:Fact)
WHERE f.name STARTS WITH $prefix
DETACH DELETE f
