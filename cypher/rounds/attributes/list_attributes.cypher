// name: rounds/attributes/list_attributes
// purpose: every attribute by name, those that were mapped to another one too
// parameters: none
// scans: Attribute, every one is asked for
MATCH (a:Attribute)
WHERE a.holders IS NOT NULL
RETURN a.name, a.router, a.holders, a.canonical ORDER BY a.name
