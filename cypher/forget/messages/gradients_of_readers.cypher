// name: forget/messages/gradients_of_readers
// purpose: the gradients of those who read one of the messages, with their texts and attributes, and the attributes that the message loses: those given at the reading's sequence, and those of the interaction that read it, which is another one where a dead letter was replayed
// parameters: rows
UNWIND $rows AS row
MATCH (:Message {router: row[0], version: row[1]})-[t:MERGED_INTO]->(p)
OPTIONAL MATCH (p)<-[:WROTE]-(i:Interaction)
UNWIND [t.sequence, i.sequence] AS sequence
WITH DISTINCT row, t.ref AS ref, sequence
UNWIND [['router', row[0]], ['filter_memory', ref]] AS of
MATCH (g:Gradient)
USING INDEX g:Gradient(module, sequence, owner)
WHERE g.module = of[0] AND g.sequence = sequence AND g.owner = of[1]
RETURN collect(DISTINCT [elementId(g), g.text, g.attributes, row[2]])
