// name: index/points/load_points
// purpose: one page of the points of a collection
// parameters: shelf, after, limit
MATCH (p:Point)
WHERE p.shelf = $shelf AND p.id > $after
WITH p ORDER BY p.id LIMIT $limit
RETURN collect([p.id, p.key, p.version, p.vector, p.attributes])
