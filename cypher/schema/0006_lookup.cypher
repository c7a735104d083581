// name: schema/0006_lookup
// purpose: no index of relationships by type, which a new database of Neo4j has (under this name): no statement of ours asks it, and each
//   event that is recorded had to change it twice
// parameters: none
DROP INDEX index_f7700477 IF EXISTS;
