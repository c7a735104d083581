// name: reason/texts/text_versions
// purpose: the current versions of clients' texts
// parameters: refs
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
WHERE c.version > 0
RETURN collect([c.ref, c.version])
