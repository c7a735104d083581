// name: index/outbox/list_changes
// purpose: the changes that have waited for so long, longest first
// parameters: age, limit, now
MATCH (w:Waiting)
WHERE w.at <= coalesce($now, timestamp()) - $age
RETURN w.collection, w.key, w.version, w.round
ORDER BY w.at, w.id
LIMIT $limit
