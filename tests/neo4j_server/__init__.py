"""A real Neo4j for tests.

The server's parts come from Maven Central. It runs on a folder of its own, with authentication.
"""
