// name: reason/texts/texts_of_versions
// purpose: texts by client and version
// parameters: keys
UNWIND $keys AS key
MATCH (p:ProfileVersion {ref: key[0], version: key[1]})
RETURN collect([p.ref, p.version, p.next_id, p.watermark, p.dropped, p.line_ids, p.line_texts, p.line_weights, p.line_authors,
  p.attribute_lines, p.attributes, p.source_lines, p.source_sequences, p.source_routers, p.source_versions, p.rules])
