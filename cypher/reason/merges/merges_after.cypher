// name: reason/merges/merges_after
// purpose: merges in commit order, [number, sequence, ref, version of its profile, router, version of its message, outcome]; waits for a running commit
// parameters: number, through, limit
MATCH (t:Progress {name: 'texts'})
SET t.locked = true
WITH t
CALL (t) {
  MATCH (m:Message)-[g:MERGED_INTO]->(p:ProfileVersion)
  WHERE g.number > $number AND g.number <= $through
  RETURN g, m, p ORDER BY g.number LIMIT $limit
}
WITH g, m, p ORDER BY g.number
RETURN collect([g.number, g.sequence, p.ref, p.version, m.router, m.version, g.outcome])
