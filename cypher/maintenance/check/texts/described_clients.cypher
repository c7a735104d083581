// name: maintenance/check/texts/described_clients
// purpose: clients that have a text
// parameters: none
// scans: Client, a check looks at every one
MATCH (c:Client)
WHERE c.version > 0
RETURN collect(c.ref)
