// name: rounds/staging/stage_parts
// purpose: stage the parts of messages: (attribute)-[INTEGRATED_INTO]->(message), (version of a text)-[BROUGHT]->(attribute)
// parameters: rows
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})
UNWIND row[2] AS of
MERGE (a:Attribute {name: of[0]})
WITH m, a, of
UNWIND of[1] AS part
CREATE (a)-[:INTEGRATED_INTO {ref: part[0], profile_version: part[1], sequence: part[2], place: part[3]}]->(m)
WITH m, a, part
MATCH (p:ProfileVersion {ref: part[0], version: part[1]})
CREATE (p)-[:BROUGHT {router: m.router, version: m.version, sequence: part[2]}]->(a)
