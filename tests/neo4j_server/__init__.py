"""A real Neo4j for tests: the server's parts from Maven Central, started on a folder of its own,
with auth on."""
