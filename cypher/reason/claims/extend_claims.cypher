// name: reason/claims/extend_claims
// purpose: extend these claims, except those that expired and were taken over
// parameters: tokens, ttl, now
UNWIND $tokens AS token
MATCH (c:Claim {token: token})
SET c.expires = coalesce($now, timestamp()) + $ttl
