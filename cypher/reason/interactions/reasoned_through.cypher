// name: reason/interactions/reasoned_through
// purpose: the sequence through which everything is reasoned: one below the oldest pending interaction
// parameters: none
MATCH (p:Progress {name: 'reason'})
WITH p.through AS after,
  head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }) AS learned
CALL (after, learned) {
  MATCH (i:Interaction)
  WHERE i.sequence > after AND i.sequence <= learned AND i.reasoned IS NULL
  RETURN i.sequence AS waits ORDER BY i.sequence LIMIT 1
  UNION ALL
  RETURN coalesce(learned, 0) + 1 AS waits
}
RETURN min(waits) - 1
