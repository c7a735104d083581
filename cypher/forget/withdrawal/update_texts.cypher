// name: forget/withdrawal/update_texts
// purpose: set new bodies of stored versions of texts, given as [ref, version, body]; versions that retention deleted meanwhile stay deleted
// parameters: rows
UNWIND $rows AS row
MATCH (p:ProfileVersion {ref: row[0], version: row[1]})
SET p.rewritten = true, p.body = row[2]
