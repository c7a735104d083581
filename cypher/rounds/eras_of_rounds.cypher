// name: rounds/eras_of_rounds
// purpose: of rounds, the epoch of the newest bootstrap at their publication; none for a round before the first
// parameters: numbers
UNWIND $numbers AS number
MATCH (d:Round {number: number})
CALL (d) {
  MATCH (e:Epoch)
  WHERE e.number >= 0 AND e.sequence <= d.sequence
  RETURN e.era AS era ORDER BY e.number DESC LIMIT 1
}
RETURN number, era
