// name: reason/claims/extend_claims
// purpose: of these claims, those that nobody took over are held for so long from now on
// parameters: tokens, ttl, now
UNWIND $tokens AS token
MATCH (c:Claim {token: token})
SET c.expires = coalesce($now, timestamp()) + $ttl
