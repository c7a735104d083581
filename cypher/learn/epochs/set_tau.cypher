// name: learn/epochs/set_tau
// purpose: set the threshold of eq. 4 for an epoch
// parameters: number, tau
MATCH (e:Epoch {number: $number})
SET e.tau = $tau
