// name: index/outbox/count_changes
// purpose: how many changes wait
// parameters: none
MATCH (w:Waiting)
WHERE w.at > 0
RETURN count(w)
