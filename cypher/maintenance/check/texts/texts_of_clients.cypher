// name: maintenance/check/texts/texts_of_clients
// purpose: all versions of clients' texts, and the nodes of their lines and rules: [ref, current version, rows of a version, next_id, watermark, dropped, body; lines; rules]
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
RETURN collect([ref, c.version,
  COLLECT {
    MATCH (p:ProfileVersion)
    WHERE p.ref = ref AND p.version > 0
    RETURN [p.version, p.next_id, p.watermark, p.dropped, p.body] ORDER BY p.version
  },
  COLLECT { MATCH (c)-[:SAYS]->(l:Line) RETURN [l.id, l.text, l.weight, l.author, l.attributes, l.interactions, l.messages] },
  COLLECT { MATCH (c)-[:FILTERS_BY]->(r:FilterRule) RETURN [r.place, r.router, r.attribute, r.factor, r.text, r.evidence, r.age] }])
