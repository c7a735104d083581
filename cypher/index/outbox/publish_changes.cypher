// name: index/outbox/publish_changes
// purpose: what a round staged waits from now on
// parameters: now
MATCH (w:Waiting {staged: true})
SET w.at = coalesce($now, timestamp())
REMOVE w.staged
