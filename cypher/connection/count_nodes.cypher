// name: connection/count_nodes
// purpose: count the nodes of the database (the count store answers; nothing is scanned)
// parameters: none
MATCH (n)
RETURN count(n) AS nodes
