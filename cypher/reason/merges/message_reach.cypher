// name: reason/merges/message_reach
// purpose: how far the messages of each router reached, among merges after a number
// parameters: after
MATCH (m:Message)-[g:MERGED_INTO]->(:ProfileVersion)
USING INDEX g:MERGED_INTO(number)
WHERE g.number > $after
WITH m, g.ref AS ref, g.outcome AS outcome
RETURN m.router, count(DISTINCT CASE WHEN outcome = 'merged' THEN ref END),
  sum(CASE WHEN outcome = 'merged' THEN 1 ELSE 0 END), sum(CASE WHEN outcome = 'filtered' THEN 1 ELSE 0 END),
  sum(CASE WHEN outcome = 'empty' THEN 1 ELSE 0 END), sum(CASE WHEN outcome = 'fell out' THEN 1 ELSE 0 END)
ORDER BY m.router
