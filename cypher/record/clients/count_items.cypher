// name: record/clients/count_items
// purpose: the number of items
// parameters: none
MATCH (c:Item)
RETURN count(c)
