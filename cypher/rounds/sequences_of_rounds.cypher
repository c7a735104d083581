// name: rounds/sequences_of_rounds
// purpose: the sequences of rounds
// parameters: numbers
UNWIND $numbers AS number
MATCH (r:Round {number: number})
RETURN r.number, r.sequence
