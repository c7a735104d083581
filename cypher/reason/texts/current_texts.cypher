// name: reason/texts/current_texts
// purpose: the current text of clients that have one; the version is null while its commit is only partly visible
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WHERE c.version > 0
OPTIONAL MATCH (p:ProfileVersion {ref: ref, version: c.version})
RETURN collect([ref, p.version, p.next_id, p.watermark, p.dropped, p.line_ids, p.line_texts, p.line_weights, p.line_authors,
  p.attribute_lines, p.attributes, p.source_lines, p.source_sequences, p.source_routers, p.source_versions, p.rules])
