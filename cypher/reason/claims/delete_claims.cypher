// name: reason/claims/delete_claims
// purpose: delete all claims: their interactions are free again
// parameters: none
// scans: Claim, one for each worker
MATCH (p:Progress {name: 'reason'})
SET p.locked = true
WITH p
MATCH (c:Claim)
DELETE c
