// name: connection/load_fact
// purpose: a named fact
// parameters: name
MATCH (f:Fact {name: $name})
RETURN f.value
