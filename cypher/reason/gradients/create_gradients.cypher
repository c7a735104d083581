// name: reason/gradients/create_gradients
// purpose: create the gradients of credit assignment: (interaction)-[GAVE]->(gradient)
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
UNWIND row[1] AS gradient
CREATE (i)-[:GAVE]->(:Gradient {sequence: row[0], module: gradient[0], owner: gradient[1], writer: gradient[2], reward: gradient[3],
                                text: gradient[4], attributes: gradient[5], epoch: gradient[6]})
