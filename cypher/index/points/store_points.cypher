// name: index/points/store_points
// purpose: store points, except where a newer version is stored
// parameters: shelf, rows
UNWIND $rows AS row
MERGE (p:Point {id: row[0]})
WITH p, row
WHERE coalesce(p.version, row[2]) <= row[2]
SET p.shelf = $shelf, p.key = row[1], p.version = row[2], p.vector = row[3], p.attributes = row[4]
