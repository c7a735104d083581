// name: reason/texts/texts_after
// purpose: versions of texts in commit order, [number, ref, version]; waits for a running commit
// parameters: number, limit
MATCH (t:Progress {name: 'texts'})
SET t.locked = true
WITH t.texts AS through
CALL (through) {
  MATCH (p:ProfileVersion)
  WHERE p.number > $number AND p.number <= through
  RETURN p.number AS number, p.ref AS ref, p.version AS version ORDER BY p.number LIMIT $limit
}
WITH number, ref, version ORDER BY number
RETURN collect([number, ref, version])
