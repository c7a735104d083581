// name: reason/texts/commit_numbers
// purpose: how many texts and merges were ever committed
// parameters: none
MATCH (p:Progress {name: 'texts'})
RETURN p.texts, p.merges
