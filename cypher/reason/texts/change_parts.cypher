// name: reason/texts/change_parts
// purpose: make the nodes of lines and filter rules those of clients' new texts; deleted: [ref, keys]; updated: [ref, key, properties that change]; created: [ref, rows of a key, a version and columns]; the key is a line's id, or a rule's place
// parameters: deleted_lines, updated_lines, created_lines, deleted_rules, updated_rules, created_rules
CALL () {
  UNWIND $deleted_lines AS row
  MATCH (l:Line)
  WHERE l.ref = row[0] AND l.id IN row[1]
  DETACH DELETE l
}
CALL () {
  UNWIND $updated_lines AS row
  MATCH (l:Line)
  WHERE l.ref = row[0] AND l.id = row[1]
  SET l += row[2]
}
CALL () {
  UNWIND $created_lines AS row
  MATCH (c:Client {ref: row[0]})
  UNWIND row[1] AS line
  CREATE (c)-[:SAYS]->(:Line {
    ref: row[0], id: line[0], since: line[1], text: line[2], weight: line[3], author: line[4], attributes: line[5],
    interactions: line[6], messages: line[7]})
}
CALL () {
  UNWIND $deleted_rules AS row
  MATCH (r:FilterRule)
  WHERE r.ref = row[0] AND r.place IN row[1]
  DETACH DELETE r
}
CALL () {
  UNWIND $updated_rules AS row
  MATCH (r:FilterRule)
  WHERE r.ref = row[0] AND r.place = row[1]
  SET r += row[2]
}
CALL () {
  UNWIND $created_rules AS row
  MATCH (c:Client {ref: row[0]})
  UNWIND row[1] AS rule
  CREATE (c)-[:FILTERS_BY]->(:FilterRule {
    ref: row[0], place: rule[0], since: rule[1], router: rule[2], attribute: rule[3], factor: rule[4], text: rule[5],
    evidence: rule[6], age: rule[7]})
}
