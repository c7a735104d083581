// name: rounds/attributes/attributes
// purpose: attributes by name
// parameters: names
UNWIND $names AS name
MATCH (a:Attribute {name: name})
WHERE a.holders IS NOT NULL
RETURN collect([a.name, a.router, a.holders, a.users, a.canonical])
