// name: record/clients/create_users
// purpose: create users
// parameters: rows
UNWIND $rows AS row
CREATE (c:Client:User)
SET c = row
