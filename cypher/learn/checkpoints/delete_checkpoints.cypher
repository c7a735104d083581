// name: learn/checkpoints/delete_checkpoints
// purpose: delete checkpoints; the sweep deletes their pieces
// parameters: ids
UNWIND $ids AS id
MATCH (c:Checkpoint {id: id})
DELETE c
