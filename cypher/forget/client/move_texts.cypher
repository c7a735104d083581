// name: forget/client/move_texts
// purpose: move texts that were written at erased sequences to the sequence and time of the client's next version that stays in place, or else of the erasure; mark texts whose previous version retention deleted
// parameters: sequences, to, now
MATCH (p:ProfileVersion)
WHERE p.sequence IN $sequences
CALL (p) {
  MATCH (n:ProfileVersion)
  WHERE n.ref = p.ref AND n.version > p.version AND NOT n.sequence IN $sequences
  WITH n ORDER BY n.ref, n.version LIMIT 1
  RETURN min(n.sequence) AS following, min(n.at) AS at
}
SET p.follows_gap = CASE WHEN p.version > 1 AND NOT EXISTS { MATCH (:ProfileVersion {ref: p.ref, version: p.version - 1}) } THEN true ELSE p.follows_gap END,
  p.sequence = coalesce(following, $to), p.at = coalesce(at, $now, timestamp())
