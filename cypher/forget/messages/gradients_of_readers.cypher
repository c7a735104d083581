// name: forget/messages/gradients_of_readers
// purpose: the gradients of those who read one of the messages, with their texts and the attributes that the message loses
// parameters: rows
UNWIND $rows AS row
MATCH (:Message {router: row[0], version: row[1]})-[t:MERGED_INTO]->()
UNWIND [['router', row[0]], ['filter_memory', t.ref]] AS of
MATCH (g:Gradient)
USING INDEX g:Gradient(module, sequence, owner)
WHERE g.module = of[0] AND g.sequence = t.sequence AND g.owner = of[1]
RETURN collect(DISTINCT [elementId(g), g.text, row[2]])
