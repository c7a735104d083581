// name: connection/schema_version
// purpose: the schema version of our database; no row if the database is not ours
// parameters: none
MATCH (m:Meta {of: 'propagation'})
RETURN m.schema
