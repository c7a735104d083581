"""The graph store on a Neo4j server: all its ports, for any number of processes."""
