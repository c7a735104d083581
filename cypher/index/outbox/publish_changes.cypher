// name: index/outbox/publish_changes
// purpose: publish the staged changes of a round
// parameters: now
MATCH (w:Waiting {staged: true})
SET w.at = coalesce($now, timestamp())
REMOVE w.staged
