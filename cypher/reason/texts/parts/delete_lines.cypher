// name: reason/texts/parts/delete_lines
// purpose: delete lines that a new version does not have: [ref, ids]
// parameters: rows
UNWIND $rows AS row
MATCH (l:Line)
WHERE l.ref = row[0] AND l.id IN row[1]
DETACH DELETE l
