// What became of a router, and what did it come from?
// Its splits and merges, back and forth, over all evolution runs.
// router: a taste router's number
:params {router: 1};

MATCH (r:Router {number: $router})
CALL (r) {
  MATCH path = (r)-[:EVOLVED_INTO*0..8]->(:Router)
  RETURN 'became' AS direction, path LIMIT 200
  UNION
  MATCH path = (:Router)-[:EVOLVED_INTO*1..8]->(r)
  RETURN 'came from' AS direction, path LIMIT 200
}
RETURN direction, length(path) AS steps, [step IN relationships(path) | step.kind + ' in run ' + step.run] AS how, path
ORDER BY direction, steps
