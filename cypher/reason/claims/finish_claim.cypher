// name: reason/claims/finish_claim
// purpose: delete a claim, and move the reason watermark below the oldest pending interaction
// parameters: token
MATCH (p:Progress {name: 'reason'})
SET p.locked = true
WITH p
MATCH (c:Claim {token: $token})
DELETE c
WITH p, p.through AS after,
  head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }) AS learned
CALL (after, learned) {
  MATCH (i:Interaction)
  WHERE i.sequence > after AND i.sequence <= learned AND i.reasoned IS NULL
  RETURN i.sequence AS waits ORDER BY i.sequence LIMIT 1
  UNION ALL
  RETURN learned + 1 AS waits
}
WITH p, min(waits) - 1 AS through
SET p.through = through
