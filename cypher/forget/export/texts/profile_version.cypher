// name: forget/export/texts/profile_version
// purpose: the versions of the client's text: the columns of each, then its sequence, its time and its author
// parameters: ref
MATCH (p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0
RETURN p.ref, p.version, p.next_id, p.watermark, p.dropped, p.body, p.sequence, p.at, p.written_by
ORDER BY p.version
