// name: maintenance/check/numbers/draws_between
// purpose: the sequences, negatives and scores in the blocks that end between two sequences
// parameters: after, through
MATCH (b:LearnedBlock)
WHERE b.through > $after AND b.through <= $through
RETURN collect([b.through, b.size, b.drawn])
