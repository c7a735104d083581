// name: reason/interactions/count_above
// purpose: how many interactions stand above a sequence, and how many of them are reasoned
// parameters: after
MATCH (i:Interaction)
WHERE i.sequence > $after
RETURN count(i), count(i.reasoned)
