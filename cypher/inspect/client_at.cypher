// What did a client look like at a time?
// The version of its profile and the edges that stood then. The lines are shown if that version is still the current one;
// `propagation profile user ID --as-of TIME` shows those of an earlier one.
// client: user:ID or item:ID · at: a time in UTC
:params {client: 'user:u0', at: '2026-01-31T12:00:00Z'};

CALL () {
  MATCH (c:User {id: substring($client, 5)}) WHERE $client STARTS WITH 'user:' RETURN c
  UNION MATCH (c:Item {id: substring($client, 5)}) WHERE $client STARTS WITH 'item:' RETURN c
}
CALL (c) {
  MATCH (k:Commit) WHERE k.at <= datetime($at).epochMillis AND k.sequence > 0
  RETURN k.sequence AS sequence ORDER BY k.at DESC, k.sequence DESC LIMIT 1
}
CALL (c, sequence) {
  MATCH path = (c)-[:HAS]->(p:ProfileVersion)
  WHERE p.sequence <= sequence
  WITH c, path, p ORDER BY p.version DESC LIMIT 1
  RETURN 'profile' AS what, path,
    CASE WHEN p.version = c.version THEN COLLECT { MATCH (c)-[:SAYS]->(l:Line) RETURN l.text ORDER BY l.id } END AS lines,
    toFloat(p.version) AS score
  UNION
  MATCH path = (c)<-[e:ROUTES_TO]-(:Router)
  WHERE e.from <= sequence AND (e.until IS NULL OR e.until > sequence)
  RETURN 'edge' AS what, path, [] AS lines, round(e.score, 4) AS score
}
RETURN sequence, what, lines, score, path ORDER BY what DESC, score DESC
