// name: reason/claims/lock_claim
// purpose: hold a claim until the transaction ends; no row where it expired and was taken over
// parameters: token
MATCH (c:Claim {token: $token})
SET c.locked = true
RETURN c.token
