// name: connection/load_fact
// purpose: the value of a named fact
// parameters: name
MATCH (f:Fact {name: $name})
RETURN f.value
