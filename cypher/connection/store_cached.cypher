// name: connection/store_cached
// purpose: store a fact that is a cache, unless there was another withdrawal; locks the progress of forgetting, so that a withdrawal either sees the fact or prevents it
// parameters: name, value, after_withdrawal
MATCH (p:Progress {name: 'forgetting'})
SET p.locked = true
WITH p WHERE coalesce(p.sequence, 0) = $after_withdrawal
MERGE (f:Fact {name: $name})
SET f.value = $value
