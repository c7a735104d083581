// name: reason/texts/lock_commit_numbers
// purpose: lock the commit numbers of texts until the transaction ends: other commits of texts wait
// parameters: none
MATCH (p:Progress {name: 'texts'})
SET p.locked = true
