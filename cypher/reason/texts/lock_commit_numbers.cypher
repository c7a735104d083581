// name: reason/texts/lock_commit_numbers
// purpose: hold the numbers of texts until the transaction ends: whoever commits a text waits
// parameters: none
MATCH (p:Progress {name: 'texts'})
SET p.locked = true
