// name: reason/texts/parts/update_rules
// purpose: give filter rules of current texts new contents
// parameters: rows
UNWIND $rows AS row
MATCH (r:FilterRule)
WHERE r.ref = row[0] AND r.place = row[1]
SET r.since = row[2], r.router = row[3], r.attribute = row[4], r.factor = row[5], r.text = row[6], r.evidence = row[7], r.age = row[8]
