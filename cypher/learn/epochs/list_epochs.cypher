// name: learn/epochs/list_epochs
// purpose: all epochs, oldest first
// parameters: none
MATCH (e:Epoch)
WHERE e.number >= 0
RETURN e.number, e.sequence, e.session_k, e.taste_k, e.tau, e.embedder, e.era ORDER BY e.number
