// name: reason/claims/lock_claim
// purpose: lock a claim until the transaction ends, and before it the reason watermark if the transaction finishes the claim; no row if it expired and was taken over
// parameters: token, finishes
MATCH (p:Progress {name: 'reason'})
FOREACH (watermark IN CASE WHEN $finishes THEN [p] ELSE [] END | SET watermark.locked = true)
WITH p
MATCH (c:Claim {token: $token})
SET c.locked = true
RETURN c.token
