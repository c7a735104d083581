// name: index/outbox/list_changes
// purpose: the oldest changes that wait for the vector index
// parameters: age, limit, now
MATCH (w:Waiting)
WHERE w.at <= coalesce($now, timestamp()) - $age
RETURN w.collection, w.key, w.version, w.round
ORDER BY w.at, w.id
LIMIT $limit
