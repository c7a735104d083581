// name: forget/withdrawal/delete_gradients_of_readers
// purpose: delete what readers of messages suggested that names an attribute which the message loses
// parameters: rows
UNWIND $rows AS row
UNWIND row[2] AS name
MATCH (:Message {router: row[0], version: row[1]})-[t:MERGED_INTO]->()
UNWIND [['router', row[0]], ['filter_memory', t.ref]] AS of
MATCH (g:Gradient)
USING INDEX g:Gradient(module, sequence, owner)
WHERE g.module = of[0] AND g.sequence = t.sequence AND g.owner = of[1] AND toLower(g.text) CONTAINS name
WITH DISTINCT g
DETACH DELETE g
