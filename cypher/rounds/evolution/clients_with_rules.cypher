// name: rounds/evolution/clients_with_rules
// purpose: the clients whose current filter memory names one of these routers
// parameters: routers
// scans: Client, every current filter memory is asked
MATCH (c:Client)
WHERE c.version > 0
MATCH (p:ProfileVersion {ref: c.ref, version: c.version})
WHERE any(router IN p.rule_routers WHERE router IN $routers)
RETURN c.ref ORDER BY c.ref
