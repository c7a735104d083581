// Whom did an event reach, hop by hop?
// Hop 1: the profiles that the interaction wrote. Hop 2: the messages that carry what these brought. Hop 3: the clients that
// merged such a message.
// event: the event's id, as the caller gave it · limit: paths a hop
:params {event: 'e1', limit: 100};

MATCH (i:Interaction {event_id: $event})
CALL (i) {
  MATCH path = (:User)-[:DID]->(i)-[:WROTE]->(:ProfileVersion)<-[:HAS]-(:Client)
  RETURN 1 AS hop, path LIMIT $limit
  UNION
  MATCH (i)-[:WROTE]->(p:ProfileVersion)-[b:BROUGHT {sequence: i.sequence}]->(a:Attribute)
  MATCH (m:Message {router: b.router, version: b.version})<-[:SENT]-(r:Router)
  MATCH (m)<-[t:INTEGRATED_INTO]-(same)
  WHERE same = a AND t.ref = p.ref AND t.profile_version = p.version
  WITH p, b, a, t, m, r LIMIT $limit
  MATCH path = (p)-[b]->(a)-[t]->(m)<-[:SENT]-(r)
  RETURN 2 AS hop, path LIMIT $limit
  UNION
  MATCH (i)-[:WROTE]->(:ProfileVersion)-[b:BROUGHT {sequence: i.sequence}]->(:Attribute)
  WITH DISTINCT b.router AS router, b.version AS version
  MATCH path = (:Message {router: router, version: version})-[:MERGED_INTO {outcome: 'merged'}]->(:ProfileVersion)<-[:HAS]-(:Client)
  RETURN 3 AS hop, path LIMIT $limit
}
RETURN hop, path ORDER BY hop
