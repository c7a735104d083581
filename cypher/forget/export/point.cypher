// name: forget/export/point
// purpose: a client's point, where the service's own index keeps it beside the graph
// parameters: collection, key
MATCH (p:Point)
WHERE p.shelf STARTS WITH $collection AND p.id > '' AND p.key = $key
RETURN {collection: $collection, version: p.version, attributes: p.attributes}
