// name: reason/texts/text_at
// purpose: the last text of a client that was written at or before a sequence
// parameters: ref, sequence
MATCH (p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0 AND p.sequence <= $sequence
RETURN p.ref, p.version, p.next_id, p.watermark, p.dropped, p.line_ids, p.line_texts, p.line_weights, p.line_authors,
  p.attribute_lines, p.attributes, p.source_lines, p.source_sequences, p.source_routers, p.source_versions, p.rules
ORDER BY p.version DESC LIMIT 1
