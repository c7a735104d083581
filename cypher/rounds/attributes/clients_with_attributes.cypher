// name: rounds/attributes/clients_with_attributes
// purpose: for each attribute the clients that held it at the last round, by ref
// parameters: names, limit
// scans: Client, for what enough users hold now and an analyst's question: a list a client costs less than an edge an attribute in every round
MATCH (c:Client)
WHERE any(held IN c.holds WHERE held IN $names)
WITH c ORDER BY c.ref
UNWIND [held IN c.holds WHERE held IN $names] AS name
WITH name, collect(c.ref)[..$limit] AS refs
RETURN collect([name, refs])
