// name: record/log/count_gaps
// purpose: count the gaps in a part of the log that withdrawn interactions left
// parameters: after, through
MATCH (v:Vacant)
WHERE v.sequence > $after AND v.sequence <= $through
RETURN count(v)
