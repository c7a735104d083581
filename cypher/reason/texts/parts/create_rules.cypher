// name: reason/texts/parts/create_rules
// purpose: create filter rules of current texts: [ref, version, rules]
// parameters: rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
UNWIND row[2] AS rule
CREATE (c)-[:FILTERS_BY]->(:FilterRule {
  ref: row[0], place: rule[0], since: row[1], router: rule[1], attribute: rule[2], factor: rule[3], text: rule[4], evidence: rule[5],
  age: rule[6]})
