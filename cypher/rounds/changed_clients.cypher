// name: rounds/changed_clients
// purpose: clients with a profile version written for a sequence in this range
// parameters: after, through
MATCH (p:ProfileVersion)
WHERE p.sequence > $after AND p.sequence <= $through
WITH DISTINCT p.ref AS ref ORDER BY ref
RETURN collect(ref)
