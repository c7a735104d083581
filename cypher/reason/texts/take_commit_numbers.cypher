// name: reason/texts/take_commit_numbers
// purpose: count up the commit numbers of texts and merges, and lock them until the commit, so that numbers become visible in order; returns the old ones
// parameters: texts, merges
MATCH (p:Progress {name: 'texts'})
SET p.locked = true
WITH p, p.texts AS texts, p.merges AS merges
SET p.texts = texts + $texts, p.merges = merges + $merges
RETURN texts, merges
