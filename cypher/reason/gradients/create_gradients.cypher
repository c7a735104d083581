// name: reason/gradients/create_gradients
// purpose: create the gradients of credit assignment: (interaction)-[GAVE]->(gradient)
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
UNWIND row[1] AS said
CREATE (i)-[:GAVE]->(:Gradient {sequence: row[0], module: said[0], owner: said[1], writer: said[2], reward: said[3], text: said[4],
                                attributes: said[5], epoch: said[6]})
