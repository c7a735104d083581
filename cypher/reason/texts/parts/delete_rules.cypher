// name: reason/texts/parts/delete_rules
// purpose: delete filter rules that a new version does not have: [ref, places]
// parameters: rows
UNWIND $rows AS row
MATCH (r:FilterRule)
WHERE r.ref = row[0] AND r.place IN row[1]
DETACH DELETE r
