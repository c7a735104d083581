// name: forget/events/orphans
// purpose: the items that exist only because of a client's events: an event created them, no upsert named them, and no event of others names them
// parameters: ref
MATCH (v:Client {ref: $ref})
CALL (v) {
  MATCH (v)-[:DID]->(:Interaction)-[:WITH|AGAINST]->(c:Client)
  RETURN c
  UNION
  MATCH (v)<-[:WITH]-(:Interaction)-[:WITH|AGAINST]->(c:Client)
  RETURN c
  UNION
  MATCH (r:Retracted)
  WHERE r.user = v.ref
  MATCH (c:Client {ref: r.item})
  RETURN c
}
WITH v, c
WHERE c.only_in_events AND c <> v
  AND NOT EXISTS { MATCH (c)<-[:WITH|AGAINST]-(i:Interaction) WHERE i.user <> v.ref AND i.item <> v.ref }
  AND NOT EXISTS { MATCH (r:Retracted) WHERE r.item = c.ref AND r.user <> v.ref }
RETURN c.ref ORDER BY c.ref
