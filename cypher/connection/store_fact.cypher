// name: connection/store_fact
// purpose: a named fact, in place of what was there
// parameters: name, value
MERGE (f:Fact {name: $name})
SET f.value = $value
