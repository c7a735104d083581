// name: forget/export/texts/profile_version
// purpose: the versions of the client's text: [ref, rows of a version, next_id, watermark, dropped, body, sequence, time and author]
// parameters: ref
RETURN [[$ref, COLLECT {
  MATCH (p:ProfileVersion)
  WHERE p.ref = $ref AND p.version > 0
  RETURN [p.version, p.next_id, p.watermark, p.dropped, p.body, p.sequence, p.at, p.written_by] ORDER BY p.version
}]]
