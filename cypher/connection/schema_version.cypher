// name: connection/schema_version
// purpose: the schema version of our database; no row in one that is not ours
// parameters: none
MATCH (m:Meta {of: 'propagation'})
RETURN m.schema
