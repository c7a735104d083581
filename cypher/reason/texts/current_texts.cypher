// name: reason/texts/current_texts
// purpose: the current text of clients that have one; the body is null while a commit is only partly visible
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WITH ref, c.version AS version
WHERE version > 0
OPTIONAL MATCH (p:ProfileVersion {ref: ref, version: version})
RETURN collect([ref, version, p.next_id, p.watermark, p.dropped, p.body])
