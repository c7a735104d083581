// name: facts/get
// purpose: a named fact
// parameters: name
MATCH (f:Fact {name: $name})
RETURN f.value
