// name: forget/client/move_merges
// purpose: move merges at erased sequences to the sequence of the text that they belong to, and those of the erased client to the erasure
// parameters: sequences, to
MATCH ()-[g:MERGED_INTO]->(p)
USING INDEX g:MERGED_INTO(sequence)
WHERE g.sequence IN $sequences
SET g.sequence = CASE WHEN p:ProfileVersion THEN p.sequence ELSE $to END
