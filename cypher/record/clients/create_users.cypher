// name: record/clients/create_users
// purpose: new users
// parameters: rows
UNWIND $rows AS row
CREATE (c:Client:User)
SET c = row
