// name: index/points/delete_points
// purpose: delete points
// parameters: ids
UNWIND $ids AS id
MATCH (p:Point {id: id})
DELETE p
