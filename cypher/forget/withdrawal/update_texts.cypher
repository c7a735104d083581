// name: forget/withdrawal/update_texts
// purpose: set new contents of stored versions of texts; versions that retention deleted meanwhile stay deleted
// parameters: rows
UNWIND $rows AS row
MATCH (p:ProfileVersion {ref: row[0], version: row[1]})
SET p.rewritten = true, p.line_ids = row[6], p.line_texts = row[7], p.line_weights = row[8], p.line_authors = row[9], p.attribute_lines = row[10],
  p.attributes = row[11], p.source_lines = row[12], p.source_sequences = row[13], p.source_routers = row[14],
  p.source_versions = row[15], p.rules = row[16], p.rule_routers = row[17]
