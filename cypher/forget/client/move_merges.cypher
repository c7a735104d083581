// name: forget/client/move_merges
// purpose: move outcomes of reception at erased sequences to the next text of their client, or to the erasure
// parameters: sequences, to
MATCH ()-[g:MERGED_INTO]->()
USING INDEX g:MERGED_INTO(sequence)
WHERE g.sequence IN $sequences
CALL (g) {
  MATCH (n:ProfileVersion)
  WHERE n.ref = g.ref AND n.sequence > g.sequence
  RETURN min(n.sequence) AS following
}
SET g.sequence = coalesce(following, $to)
