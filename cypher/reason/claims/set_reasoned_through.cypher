// name: reason/claims/set_reasoned_through
// purpose: store up to which sequence everything is reasoned, so that the search for pending interactions starts there
// parameters: through
MATCH (p:Progress {name: 'reason'})
SET p.through = $through
