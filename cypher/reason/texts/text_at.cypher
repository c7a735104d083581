// name: reason/texts/text_at
// purpose: the last text of a client that was written at or before a sequence
// parameters: ref, sequence
MATCH (p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0 AND p.sequence <= $sequence
RETURN p.ref, p.version, p.next_id, p.watermark, p.dropped, p.body ORDER BY p.ref DESC, p.version DESC LIMIT 1
