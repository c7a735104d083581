// name: rounds/evolution/clients_with_rules
// purpose: the clients whose current filter memory names one of these routers
// parameters: routers
// scans: FilterRule, every current rule is asked
MATCH (r:FilterRule)
WHERE r.router IN $routers
WITH DISTINCT r.ref AS ref
RETURN ref ORDER BY ref
