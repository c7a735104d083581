// name: connection/store_fact
// purpose: store a named fact in place of an older value
// parameters: name, value
MERGE (f:Fact {name: $name})
SET f.value = $value
