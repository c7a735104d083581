// name: index/points/delete_points
// purpose: points by id
// parameters: ids
UNWIND $ids AS id
MATCH (p:Point {id: id})
DELETE p
