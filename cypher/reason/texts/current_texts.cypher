// name: reason/texts/current_texts
// purpose: the current version of clients' texts, and the versions of its group through it: [ref, version, rows of a version, next_id, watermark, dropped, body]; a version is missing while a commit is only partly visible
// parameters: refs, group
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WITH ref, c.version AS current
WHERE current > 0
RETURN collect([ref, current, COLLECT {
  MATCH (p:ProfileVersion)
  WHERE p.ref = ref AND p.version >= current - (current - 1) % $group AND p.version <= current
  RETURN [p.version, p.next_id, p.watermark, p.dropped, p.body] ORDER BY p.version
}])
