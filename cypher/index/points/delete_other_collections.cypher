// name: index/points/delete_other_collections
// purpose: delete the points of all collections except these
// parameters: shelves
// scans: Point, all of another index
MATCH (p:Point)
WHERE NOT p.shelf IN $shelves
DELETE p
