// name: connection/list_indexes
// purpose: all indexes of the database, including those of constraints, and their states
// parameters: none
SHOW INDEXES YIELD name, state
RETURN name, state
