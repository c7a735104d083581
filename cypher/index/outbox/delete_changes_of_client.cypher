// name: index/outbox/delete_changes_of_client
// purpose: delete the changes of some keys of a collection
// parameters: collection, keys
MATCH (w:Waiting)
WHERE w.at > -1 AND w.collection = $collection AND w.key IN $keys
DELETE w
