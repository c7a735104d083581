// name: texts/gradients
// purpose: what credit assignment said: (interaction)-[GAVE]->(gradient)
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
CREATE (i)-[:GAVE]->(:Gradient {sequence: row[0], module: row[1], owner: row[2], writer: row[3], reward: row[4], text: row[5],
                                attributes: row[6], epoch: row[7]})
