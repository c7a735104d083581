// name: reason/claims/lock_claim
// purpose: lock a claim until the transaction ends; no row if it expired and was taken over
// parameters: token
MATCH (c:Claim {token: $token})
SET c.locked = true
RETURN c.token
