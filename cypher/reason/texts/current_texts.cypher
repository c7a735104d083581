// name: reason/texts/current_texts
// purpose: the current text of clients that have one; the body is null while a commit is only partly visible
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WHERE c.version > 0
OPTIONAL MATCH (p:ProfileVersion {ref: ref, version: c.version})
RETURN collect([ref, c.version, p.next_id, p.watermark, p.dropped, p.body])
