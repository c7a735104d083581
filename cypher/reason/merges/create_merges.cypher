// name: reason/merges/create_merges
// purpose: what reception merged or dropped: (message)-[MERGED_INTO]->(profile version)
// parameters: rows
UNWIND $rows AS row
MATCH (p:ProfileVersion {ref: row[0], version: row[1]})
MERGE (m:Message {router: row[2], version: row[3]})
CREATE (m)-[:MERGED_INTO {ref: row[0], outcome: row[4], sequence: row[5], number: row[6]}]->(p)
