// name: forget/retention/delete_texts
// purpose: drop these profile versions; how many
// parameters: keys
UNWIND $keys AS key
MATCH (p:ProfileVersion {ref: key[0], version: key[1]})
DETACH DELETE p
RETURN count(*)
