// name: rounds/attributes/clients_with_attribute
// purpose: the clients that held an attribute at the last round
// parameters: name, limit
// scans: Client, an analyst's question: a list a client costs less than an edge an attribute in every round
MATCH (c:Client)
WHERE $name IN c.holds
RETURN c.ref ORDER BY c.ref LIMIT $limit
