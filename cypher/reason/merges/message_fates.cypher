// name: reason/merges/message_fates
// purpose: what became of a router's messages: how many clients merged each, or dropped it and why, and the first clients that merged it
// parameters: router, versions, clients
UNWIND $versions AS version
MATCH (m:Message {router: $router, version: version})
CALL (m) {
  OPTIONAL MATCH (m)-[g:MERGED_INTO]->(:ProfileVersion)
  RETURN sum(CASE WHEN g.outcome = 'merged' THEN 1 ELSE 0 END) AS merged, sum(CASE WHEN g.outcome = 'filtered' THEN 1 ELSE 0 END) AS filtered,
    sum(CASE WHEN g.outcome = 'empty' THEN 1 ELSE 0 END) AS empty, sum(CASE WHEN g.outcome = 'fell out' THEN 1 ELSE 0 END) AS fell_out, count(g) AS total
}
RETURN version, merged, filtered, empty, fell_out, total - merged - filtered - empty - fell_out,
  COLLECT { MATCH (m)-[g:MERGED_INTO]->(:ProfileVersion) WHERE g.outcome = 'merged' RETURN DISTINCT g.ref AS ref ORDER BY ref LIMIT $clients }
