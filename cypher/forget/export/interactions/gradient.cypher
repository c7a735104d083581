// name: forget/export/interactions/gradient
// purpose: the gradients of the client's modules, and those of its interactions
// parameters: ref, modules
MATCH (c:Client {ref: $ref})
CALL (c) {
  MATCH (c)-[:DID]->(:Interaction)-[:GAVE]->(g:Gradient)
  WHERE g.writer = c.ref
  RETURN g
  UNION
  UNWIND $modules AS module
  MATCH (g:Gradient)
  WHERE g.module = module AND g.sequence > -1 AND g.owner = c.ref
  RETURN g
}
OPTIONAL MATCH (w:Client {ref: g.writer})
OPTIONAL MATCH (o:Client {ref: CASE WHEN g.module IN $modules THEN g.owner END})
RETURN {sequence: g.sequence, module: g.module, owner: CASE WHEN g.module IN $modules THEN CASE WHEN o:Item THEN 'item:' ELSE 'user:' END + o.id ELSE g.owner END,
  writer: CASE WHEN w:Item THEN 'item:' ELSE 'user:' END + w.id, reward: g.reward, text: g.text, attributes: g.attributes} ORDER BY g.sequence
