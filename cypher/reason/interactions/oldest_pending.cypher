// name: reason/interactions/oldest_pending
// purpose: the oldest interaction that is learned but not reasoned (null if there is none), and the learned sequence
// parameters: none
MATCH (p:Progress {name: 'reason'})
WITH p.through AS after,
  coalesce(head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }), 0) AS learned
RETURN head(COLLECT {
  MATCH (i:Interaction)
  WHERE i.sequence > after AND i.sequence <= learned AND i.reasoned IS NULL
  RETURN i.sequence ORDER BY i.sequence LIMIT 1
}) AS pending, learned
