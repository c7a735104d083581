// name: connection/schema_version
// purpose: the node that says that this database is ours, and of which schema
// parameters: none
MATCH (m:Meta {of: 'propagation'})
RETURN m.schema
