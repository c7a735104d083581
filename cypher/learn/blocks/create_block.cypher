// name: learn/blocks/create_block
// purpose: create one block of learned numbers, packed; the property increments marks a block whose increments of trust are still stored
// parameters: after, through, epoch, size, drawn, wrote, trust, combiner
CREATE (:LearnedBlock {after: $after, through: $through, epoch: $epoch, size: $size, drawn: $drawn, wrote: $wrote, trust: $trust,
                       combiner: $combiner, increments: $through})
