// name: erasure/drop_interactions
// purpose: interactions go, with what credit assignment said of them; their sequences stay as gaps. learned: their block has a row of each
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
CALL (i) {
  MATCH (i)-[:GAVE]->(g:Gradient)
  DETACH DELETE g
}
DETACH DELETE i
CREATE (:Vacant {sequence: row[0], learned: row[1]})
