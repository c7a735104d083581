// name: outbox/discard
// purpose: what an unfinished round staged
// parameters: none
MATCH (w:Waiting {staged: true})
DELETE w
