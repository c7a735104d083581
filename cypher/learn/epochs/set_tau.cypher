// name: learn/epochs/set_tau
// purpose: eq. 4's threshold of an epoch
// parameters: number, tau
MATCH (e:Epoch {number: $number})
SET e.tau = $tau
