// name: forget/retention/delete_texts
// purpose: delete versions of texts; returns how many
// parameters: keys
UNWIND $keys AS key
MATCH (p:ProfileVersion {ref: key[0], version: key[1]})
DETACH DELETE p
RETURN count(*)
