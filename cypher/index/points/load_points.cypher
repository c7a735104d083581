// name: index/points/load_points
// purpose: points of a shelf in order of their ids, some a call
// parameters: shelf, after, limit
MATCH (p:Point)
WHERE p.shelf = $shelf AND p.id > $after
WITH p ORDER BY p.id LIMIT $limit
RETURN collect([p.id, p.key, p.version, p.vector, p.attributes])
