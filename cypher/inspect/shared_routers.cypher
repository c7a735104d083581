// Which routers do two clients share?
// Standing edges of both; the product of the scores says how much.
// one, other: ids of users or items
:params {one: 'u0', other: 'u1'};

CALL () { MATCH (a:User {id: $one}) RETURN a UNION MATCH (a:Item {id: $one}) RETURN a }
CALL (a) { MATCH (b:User {id: $other}) RETURN b UNION MATCH (b:Item {id: $other}) RETURN b }
MATCH path = (a)<-[e:ROUTES_TO]-(r:Router)-[f:ROUTES_TO]->(b)
WHERE e.from IS NOT NULL AND e.until IS NULL AND f.from IS NOT NULL AND f.until IS NULL
RETURN r.number AS router, round(e.score, 4) AS one, round(f.score, 4) AS other, path ORDER BY e.score * f.score DESC
