// name: index/outbox/count_changes
// purpose: count the changes that wait for the vector index
// parameters: none
MATCH (w:Waiting)
WHERE w.at > 0
RETURN count(w)
