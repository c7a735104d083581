// name: forget/search/brought_attributes
// purpose: the attributes that clients brought to messages, each once
// parameters: refs
UNWIND $refs AS ref
MATCH (a:Attribute)-[t:INTEGRATED_INTO]->()
WHERE t.ref = ref
RETURN collect(DISTINCT a.name)
