// Who is a router's community, and what did it last hear of?
// The clients of its current edges, the highest scores first, and the attributes of its newest message since the newest bootstrap.
// router: a taste router's number · limit: how many clients
:params {router: 1, limit: 50};

MATCH (r:Router {number: $router})
CALL (r) {
  MATCH path = (r)-[e:ROUTES_TO]->(:Client)
  WHERE e.from IS NOT NULL AND e.until IS NULL
  RETURN 'member' AS what, round(e.score, 4) AS score, path ORDER BY e.score DESC LIMIT $limit
  UNION
  MATCH (r)-[:SENT]->(m:Message)
  WHERE EXISTS { (:Round {number: m.round}) }
    AND m.epoch >= coalesce(COLLECT { MATCH (e:Epoch) WHERE e.number >= 0 RETURN e.era ORDER BY e.number DESC LIMIT 1 }[0], 0)
  WITH r, m ORDER BY m.version DESC LIMIT 1
  MATCH path = (r)-[:SENT]->(m)<-[:INTEGRATED_INTO]-(a:Attribute)
  WITH a, collect(path)[0] AS path, count(*) AS brought
  RETURN 'newest attribute' AS what, toFloat(brought) AS score, path ORDER BY brought DESC LIMIT 50
}
RETURN what, score, path ORDER BY what, score DESC
