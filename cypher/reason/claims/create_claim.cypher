// name: reason/claims/create_claim
// purpose: a worker holds these interactions until a time
// parameters: token, worker, expires, work
MATCH (p:Progress {name: 'reason'})
SET p.token = $token
CREATE (:Claim {token: $token, worker: $worker, expires: $expires, work: $work})
