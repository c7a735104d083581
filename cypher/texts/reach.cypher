// name: texts/reach
// purpose: how far the messages of each router went, of merges after a number
// parameters: after
// scans: Message, every one is counted
MATCH (m:Message)
CALL (m) {
  MATCH (m)-[g:MERGED_INTO]->(:ProfileVersion)
  WHERE g.number > $after
  RETURN g.ref AS ref, g.outcome AS outcome
}
RETURN m.router, count(DISTINCT CASE WHEN outcome = 'merged' THEN ref END),
  sum(CASE WHEN outcome = 'merged' THEN 1 ELSE 0 END), sum(CASE WHEN outcome = 'filtered' THEN 1 ELSE 0 END),
  sum(CASE WHEN outcome = 'empty' THEN 1 ELSE 0 END), sum(CASE WHEN outcome = 'fell out' THEN 1 ELSE 0 END)
ORDER BY m.router
