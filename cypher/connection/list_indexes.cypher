// name: connection/list_indexes
// purpose: which indexes the database has, those of constraints too, and their states
// parameters: none
SHOW INDEXES YIELD name, state
RETURN name, state
