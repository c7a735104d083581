// name: rounds/changed_clients
// purpose: the clients of whose text a version was written in a range of sequences
// parameters: after, through
MATCH (p:ProfileVersion)
WHERE p.sequence > $after AND p.sequence <= $through
WITH DISTINCT p.ref AS ref ORDER BY ref
RETURN collect(ref)
