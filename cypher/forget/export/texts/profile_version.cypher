// name: forget/export/texts/profile_version
// purpose: the versions of the client's text: the columns of each, then its sequence, its time and its author
// parameters: ref
MATCH (p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0
RETURN p.ref, p.version, p.next_id, p.watermark, p.dropped, p.line_ids, p.line_texts, p.line_weights, p.line_authors,
  p.attribute_lines, p.attributes, p.source_lines, p.source_sequences, p.source_routers, p.source_versions, p.rules, p.sequence, p.at, p.written_by
ORDER BY p.version
