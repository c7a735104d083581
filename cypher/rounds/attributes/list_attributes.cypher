// name: rounds/attributes/list_attributes
// purpose: all attributes by name, including those mapped to another
// parameters: none
// scans: Attribute, every one is asked for
MATCH (a:Attribute)
WHERE a.holders IS NOT NULL
RETURN a.name, a.router, a.holders, a.users, a.canonical ORDER BY a.name
