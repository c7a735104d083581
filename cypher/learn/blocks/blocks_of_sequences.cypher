// name: learn/blocks/blocks_of_sequences
// purpose: the blocks that cover sequences, in order
// parameters: sequences
UNWIND $sequences AS sequence
CALL (sequence) {
  MATCH (b:LearnedBlock)
  WHERE b.through >= sequence
  RETURN b ORDER BY b.through LIMIT 1
}
WITH DISTINCT b ORDER BY b.through
RETURN b.after, b.through, b.epoch, b.size, b.drawn, b.wrote, b.emptied, b.promoted, b.promoted_routers, b.promoted_weights
