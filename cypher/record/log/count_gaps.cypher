// name: record/log/count_gaps
// purpose: how many sequences of a part of the log are gaps, whose interactions were taken back
// parameters: after, through
MATCH (v:Vacant)
WHERE v.sequence > $after AND v.sequence <= $through
RETURN count(v)
