// name: reason/texts/all_versions
// purpose: the current version of every client's text
// parameters: none
// scans: Client, every one is asked for
MATCH (c:Client)
WHERE c.version > 0
RETURN collect(c.ref), collect(c.version)
