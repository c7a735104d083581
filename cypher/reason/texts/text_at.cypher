// name: reason/texts/text_at
// purpose: the last version of a client's text that was written at or before a sequence, and the versions of its group through it: ref, version, rows of a version, next_id, watermark, dropped, body
// parameters: ref, sequence, group
MATCH (p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0 AND p.sequence <= $sequence
WITH p.ref AS ref, p.version AS last ORDER BY ref DESC, last DESC LIMIT 1
RETURN ref, last, COLLECT {
  MATCH (b:ProfileVersion)
  WHERE b.ref = ref AND b.version >= last - (last - 1) % $group AND b.version <= last
  RETURN [b.version, b.next_id, b.watermark, b.dropped, b.body] ORDER BY b.version
}
