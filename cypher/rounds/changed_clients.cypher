// name: rounds/changed_clients
// purpose: the clients with a version of their text written in a range of sequences
// parameters: after, through
MATCH (p:ProfileVersion)
WHERE p.sequence > $after AND p.sequence <= $through
WITH DISTINCT p.ref AS ref ORDER BY ref
RETURN collect(ref)
