// name: reason/texts/take_commit_numbers
// purpose: how many texts and merges were committed before, and now so many more; held until the commit, so that numbers show in their order
// parameters: texts, merges
MATCH (p:Progress {name: 'texts'})
SET p.locked = true
WITH p, p.texts AS texts, p.merges AS merges
SET p.texts = texts + $texts, p.merges = merges + $merges
RETURN texts, merges
