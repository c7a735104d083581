// name: forget/export/client/point
// purpose: the client's point, if the service keeps its vector index in the graph
// parameters: collection, key
MATCH (p:Point)
WHERE p.shelf STARTS WITH $collection AND p.id > '' AND p.key = $key
RETURN {collection: $collection, version: p.version, attributes: p.attributes}
