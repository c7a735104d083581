// name: reason/texts/parts/update_lines
// purpose: give lines of current texts new contents
// parameters: rows
UNWIND $rows AS row
MATCH (l:Line)
WHERE l.ref = row[0] AND l.id = row[1]
SET l.since = row[2], l.text = row[3], l.weight = row[4], l.author = row[5], l.attributes = row[6], l.interactions = row[7],
  l.messages = row[8]
