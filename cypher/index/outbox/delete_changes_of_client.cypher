// name: index/outbox/delete_changes_of_client
// purpose: changes of some points of one collection that wait
// parameters: collection, keys
MATCH (w:Waiting)
WHERE w.at > -1 AND w.collection = $collection AND w.key IN $keys
DELETE w
