// name: record/clients/create_items
// purpose: create items
// parameters: rows
UNWIND $rows AS row
CREATE (c:Client:Item)
SET c = row
