// name: reason/merges/create_merges
// purpose: create the outcomes of reception: (message)-[MERGED_INTO]->(version of a text)
// parameters: rows
UNWIND $rows AS row
MATCH (p:ProfileVersion {ref: row[0], version: row[1]})
MERGE (m:Message {router: row[2], version: row[3]})
CREATE (m)-[:MERGED_INTO {ref: row[0], outcome: row[4], sequence: row[5], number: row[6]}]->(p)
