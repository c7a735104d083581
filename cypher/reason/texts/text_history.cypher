// name: reason/texts/text_history
// purpose: the stored versions of a client's text below a number, newest first: the columns of each, then its sequence, its time and its author
// parameters: ref, before, limit
MATCH (p:ProfileVersion)
WHERE p.ref = $ref AND p.version > 0 AND p.version < $before
RETURN p.ref, p.version, p.next_id, p.watermark, p.dropped, p.body, p.sequence, p.at, coalesce(p.written_by, '')
ORDER BY p.ref DESC, p.version DESC LIMIT $limit
