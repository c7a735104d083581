"""The graph store on a Neo4j server, for any number of processes."""
