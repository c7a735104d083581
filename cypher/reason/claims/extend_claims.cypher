// name: reason/claims/extend_claims
// purpose: extend those of these claims that have not expired and been taken over
// parameters: tokens, ttl, now
UNWIND $tokens AS token
MATCH (c:Claim {token: token})
SET c.expires = coalesce($now, timestamp()) + $ttl
