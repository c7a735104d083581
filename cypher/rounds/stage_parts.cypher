// name: rounds/stage_parts
// purpose: what each message was integrated from: (attribute)-[INTEGRATED_INTO]->(message)
// parameters: rows
UNWIND $rows AS row
MATCH (m:Message {router: row[0], version: row[1]})
MERGE (a:Attribute {name: row[2]})
CREATE (a)-[:INTEGRATED_INTO {ref: row[3], profile_version: row[4], sequence: row[5], place: row[6]}]->(m)
