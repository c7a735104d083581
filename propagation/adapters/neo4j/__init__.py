"""The graph store on a Neo4j server: the deployment for several processes. Every statement is a
file under cypher/."""
