// name: learn/blocks/drop_trust
// purpose: drop increments of trust up to a sequence
// parameters: through
MATCH (b:LearnedBlock)
WHERE b.increments <= $through
REMOVE b.trust, b.combiner, b.increments
