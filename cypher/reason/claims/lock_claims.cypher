// name: reason/claims/lock_claims
// purpose: lock the claims until the transaction ends and delete expired ones; returns the sequence up to which everything is reasoned, the last token, the time, the claimed interactions and the learned sequence
// parameters: now
// scans: Claim, one for each worker
MATCH (p:Progress {name: 'reason'})
SET p.locked = true
WITH p, coalesce($now, timestamp()) AS now
CALL (now) {
  MATCH (c:Claim)
  WHERE c.expires <= now
  DELETE c
}
RETURN p.through, p.token, now, COLLECT { MATCH (c:Claim) RETURN c.work } AS held,
  COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 } AS learned
