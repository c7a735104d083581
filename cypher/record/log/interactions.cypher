// name: record/log/interactions
// purpose: the interactions of a part of the log, as columns
// parameters: after, through
MATCH (i:Interaction)
WHERE i.sequence > $after AND i.sequence <= $through
WITH i ORDER BY i.sequence
RETURN collect(i.sequence), collect(i.user), collect(i.item), collect(coalesce(i.negative, -1)), collect(i.weight), collect(i.seed),
  collect(i.at / 86400000), collect(i.time)
