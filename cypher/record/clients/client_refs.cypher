// name: record/clients/client_refs
// purpose: the refs of clients by id
// parameters: users, items
RETURN COLLECT { UNWIND $users AS id MATCH (u:User {id: id}) RETURN [id, u.ref] } AS users,
  COLLECT { UNWIND $items AS id MATCH (i:Item {id: id}) RETURN [id, i.ref] } AS items
