// name: learn/epochs/bootstrap_sequence
// purpose: the sequence of the newest bootstrap, now or at a sequence
// parameters: at
CALL () {
  MATCH (e:Epoch)
  WHERE e.number >= 0 AND ($at IS NULL OR e.sequence <= $at)
  RETURN e.era AS era ORDER BY e.number DESC LIMIT 1
}
MATCH (b:Epoch {number: era})
RETURN b.sequence
