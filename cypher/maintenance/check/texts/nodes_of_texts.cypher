// name: maintenance/check/texts/nodes_of_texts
// purpose: the current texts of clients, and the nodes of their lines and rules
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
MATCH (p:ProfileVersion {ref: ref, version: c.version})
RETURN collect([ref, c.version, p.next_id, p.watermark, p.dropped, p.body,
  COLLECT { MATCH (c)-[:SAYS]->(l:Line) RETURN [l.id, l.text, l.weight, l.author, l.attributes, l.interactions, l.messages] },
  COLLECT { MATCH (c)-[:FILTERS_BY]->(r:FilterRule) RETURN [r.place, r.router, r.attribute, r.factor, r.text, r.evidence, r.age] }])
