// name: forget/messages/gradients_of_readers
// purpose: the gradients, with their texts and attributes, of the routers and of the clients' filter memories at the sequence of each merge of a message, and at the interaction that wrote the merged text (another one if a dead letter was replayed); and the attributes that the message loses
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
