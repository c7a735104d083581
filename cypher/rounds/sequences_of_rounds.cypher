// name: rounds/sequences_of_rounds
// purpose: the places of rounds in the log
// parameters: numbers
UNWIND $numbers AS number
MATCH (r:Round {number: number})
RETURN r.number, r.sequence
