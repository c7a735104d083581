// name: reason/claims/finish_claim
// purpose: delete a claim whose interactions are reasoned
// parameters: token
MATCH (c:Claim {token: $token})
DELETE c
