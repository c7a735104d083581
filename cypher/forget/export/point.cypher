// name: forget/export/point
// purpose: the client's point, if the service keeps its vector index in the graph
// parameters: ref
WITH CASE WHEN $ref % 2 = 1 THEN 'items' ELSE 'users' END AS collection
MATCH (p:Point)
WHERE p.shelf STARTS WITH collection AND p.id > '' AND p.key = toString($ref)
RETURN {collection: collection, version: p.version, attributes: p.attributes}
