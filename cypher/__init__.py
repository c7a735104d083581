"""The statements of the Neo4j store and the analysts' questions."""
