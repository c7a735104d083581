// name: maintenance/check/texts/nodes_of_texts
// purpose: the current texts of clients, and the nodes of their lines and rules
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WITH ref, c, c.version AS version
MATCH (p:ProfileVersion {ref: ref, version: version})
RETURN collect([ref, version, p.next_id, p.watermark, p.dropped, p.body,
  COLLECT { MATCH (c)-[:SAYS]->(l:Line) RETURN [l.id, l.text, l.weight, l.author, l.attributes, l.interactions, l.messages] },
  COLLECT { MATCH (c)-[:FILTERS_BY]->(r:FilterRule) RETURN [r.place, r.router, r.attribute, r.factor, r.text, r.evidence, r.age] }])
