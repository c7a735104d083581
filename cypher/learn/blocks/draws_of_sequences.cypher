// name: learn/blocks/draws_of_sequences
// purpose: the negatives and scores in the blocks that cover sequences, in order
// parameters: sequences
UNWIND $sequences AS sequence
CALL (sequence) {
  MATCH (b:LearnedBlock)
  WHERE b.through >= sequence
  RETURN b ORDER BY b.through LIMIT 1
}
WITH DISTINCT b ORDER BY b.through
RETURN b.through, b.size, b.drawn
