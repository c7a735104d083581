// name: record/log/count_gaps
// purpose: count the gaps that withdrawn interactions left in a part of the log
// parameters: after, through
MATCH (v:Vacant)
WHERE v.sequence > $after AND v.sequence <= $through
RETURN count(v)
