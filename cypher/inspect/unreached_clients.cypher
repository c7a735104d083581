// Which clients does no router reach?
// Without a current edge no message arrives: too new for a round, without text, or far from every router.
// scans: Client, each is asked
// kind: User or Item · limit: how many
:params {kind: 'User', limit: 50};

MATCH (c:Client)
WHERE any(label IN labels(c) WHERE toLower(label) = toLower($kind)) AND NOT EXISTS { (c)<-[e:ROUTES_TO]-() WHERE e.from IS NOT NULL AND e.until IS NULL }
WITH c LIMIT $limit
OPTIONAL MATCH path = (c)-[:HAS]->(:ProfileVersion {ref: c.ref, version: c.version})
RETURN CASE WHEN c:User THEN 'user:' ELSE 'item:' END + c.id AS client, c.title AS title, c.version AS profile_version, c AS node, path
