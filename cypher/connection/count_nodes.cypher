// name: connection/count_nodes
// purpose: how many nodes the database holds: the count store answers, nothing is read
// parameters: none
MATCH (n)
RETURN count(n) AS nodes
