// name: reason/texts/parts/create_lines
// purpose: create lines of current texts: [ref, version, lines]
// parameters: rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
UNWIND row[2] AS line
CREATE (c)-[:SAYS]->(:Line {
  ref: row[0], id: line[0], since: row[1], text: line[1], weight: line[2], author: line[3], attributes: line[4], interactions: line[5],
  messages: line[6]})
