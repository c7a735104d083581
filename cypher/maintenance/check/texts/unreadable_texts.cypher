// name: maintenance/check/texts/unreadable_texts
// purpose: versions of texts whose lists of lines, attributes, sources or rules are missing, differ in length, or hold values of other kinds
// parameters: limit
// scans: ProfileVersion, a check looks at every one
MATCH (p:ProfileVersion)
WHERE NOT coalesce(
  size(p.line_ids) = size(p.line_texts) AND size(p.line_ids) = size(p.line_weights) AND size(p.line_ids) = size(p.line_authors)
  AND p.line_texts IS :: LIST<STRING NOT NULL> AND p.line_weights IS :: LIST<FLOAT NOT NULL>
  AND size(p.attribute_lines) = size(p.attributes) AND p.attributes IS :: LIST<STRING NOT NULL>
  AND all(line IN p.attribute_lines WHERE line IN p.line_ids) AND all(line IN p.source_lines WHERE line IN p.line_ids)
  AND size(p.source_lines) = size(p.source_sequences) AND size(p.source_lines) = size(p.source_routers)
  AND size(p.source_lines) = size(p.source_versions)
  AND p.next_id IS NOT NULL AND p.watermark IS NOT NULL AND p.dropped IS NOT NULL
  AND (p.rules IS NULL OR p.rules STARTS WITH '[{"router":' AND p.rules ENDS WITH '}]'), false)
RETURN p.ref, p.version LIMIT $limit
