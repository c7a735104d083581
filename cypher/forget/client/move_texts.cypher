// name: forget/client/move_texts
// purpose: move texts that were written at erased sequences to the next version of their client that stays where it is, or to the erasure, with the time of that
// parameters: sequences, to, now
MATCH (p:ProfileVersion)
WHERE p.sequence IN $sequences
CALL (p) {
  MATCH (n:ProfileVersion)
  WHERE n.ref = p.ref AND n.version > p.version AND NOT n.sequence IN $sequences
  WITH n ORDER BY n.ref, n.version LIMIT 1
  RETURN min(n.sequence) AS following, min(n.at) AS at
}
SET p.sequence = coalesce(following, $to), p.at = coalesce(at, $now, timestamp())
