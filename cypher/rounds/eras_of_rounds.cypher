// name: rounds/eras_of_rounds
// purpose: for each round, the epoch of the newest bootstrap when the round was published; no row for a round before the first bootstrap
// parameters: numbers
UNWIND $numbers AS number
MATCH (d:Round {number: number})
CALL (d) {
  MATCH (e:Epoch)
  WHERE e.number >= 0 AND e.sequence <= d.sequence
  RETURN e.era AS era ORDER BY e.number DESC LIMIT 1
}
RETURN number, era
