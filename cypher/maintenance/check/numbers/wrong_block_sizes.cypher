// name: maintenance/check/numbers/wrong_block_sizes
// purpose: learned blocks whose size differs from the number of interactions in the log
// parameters: limit
MATCH (b:LearnedBlock)
WHERE b.through > 0
WITH b.after AS after, b.through AS through, b.size AS size
WITH through, size, COUNT { MATCH (i:Interaction) WHERE i.sequence > after AND i.sequence <= through }
  + COUNT { MATCH (v:Vacant) WHERE v.sequence > after AND v.sequence <= through AND v.learned } AS held
WHERE size <> held
RETURN through, size, held LIMIT $limit
