// Which paths did most preferences take on a day?
// Attribute to router to profiles: how many profiles merged a message in which the router passed the attribute on.
// day: of the commits, in UTC · limit: how many paths
:params {day: '2026-01-31', limit: 25};

WITH datetime($day).epochMillis AS begins
CALL (begins) {
  MATCH (k:Commit) WHERE k.at < begins AND k.sequence > 0
  RETURN k.sequence AS after ORDER BY k.at DESC, k.sequence DESC LIMIT 1
  UNION ALL
  RETURN 0 AS after
}
WITH begins, max(after) AS after
CALL (begins) {
  MATCH (k:Commit) WHERE k.at < begins + 86400000 AND k.sequence > 0
  RETURN k.sequence AS through ORDER BY k.at DESC, k.sequence DESC LIMIT 1
}
MATCH (m)-[g:MERGED_INTO]->()
USING INDEX g:MERGED_INTO(outcome, sequence)
WHERE g.outcome = 'merged' AND g.sequence > after AND g.sequence <= through
WITH m, count(g) AS profiles
UNWIND m.attributes AS name
WITH m.router AS router, name, sum(profiles) AS profiles, collect(m)[0] AS m ORDER BY profiles DESC LIMIT $limit
MATCH path = (a:Attribute {name: name})-[:INTEGRATED_INTO]->(m)<-[:SENT]-(:Router)
RETURN profiles, name AS attribute, router, collect(path)[0] AS path ORDER BY profiles DESC
