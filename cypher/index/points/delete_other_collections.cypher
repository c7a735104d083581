// name: index/points/delete_other_collections
// purpose: points that are on none of these shelves
// parameters: shelves
// scans: Point, all of another index
MATCH (p:Point)
WHERE NOT p.shelf IN $shelves
DELETE p
