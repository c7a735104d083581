// Which routers do two clients share?
// Current edges of both; the product of the scores says how much.
// one, other: user:ID or item:ID
:params {one: 'user:u0', other: 'user:u1'};

CALL () {
  MATCH (a:User {id: substring($one, 5)}) WHERE $one STARTS WITH 'user:' RETURN a
  UNION MATCH (a:Item {id: substring($one, 5)}) WHERE $one STARTS WITH 'item:' RETURN a
}
CALL (a) {
  MATCH (b:User {id: substring($other, 5)}) WHERE $other STARTS WITH 'user:' RETURN b
  UNION MATCH (b:Item {id: substring($other, 5)}) WHERE $other STARTS WITH 'item:' RETURN b
}
MATCH path = (a)<-[e:ROUTES_TO]-(r:Router)-[f:ROUTES_TO]->(b)
WHERE e.from IS NOT NULL AND e.until IS NULL AND f.from IS NOT NULL AND f.until IS NULL
RETURN r.number AS router, round(e.score, 4) AS one, round(f.score, 4) AS other, path ORDER BY e.score * f.score DESC
