// name: reason/claims/create_claim
// purpose: create a claim on interactions that expires at a time
// parameters: token, worker, expires, work
MATCH (p:Progress {name: 'reason'})
SET p.token = $token
CREATE (:Claim {token: $token, worker: $worker, expires: $expires, work: $work})
