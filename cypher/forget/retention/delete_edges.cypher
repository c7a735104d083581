// name: forget/retention/delete_edges
// purpose: delete closed edges, by ref, router and round that closed them; returns how many
// parameters: keys
UNWIND $keys AS key
MATCH (c:Client {ref: key[0]})
MATCH (c)<-[e:ROUTES_TO]-()
WHERE e.router = key[1] AND e.closed = key[2]
WITH e, e.opened AS number
DELETE e
WITH number, count(*) AS deleted
MATCH (d:Round {number: number})
SET d.edges = d.edges - deleted
RETURN sum(deleted)
