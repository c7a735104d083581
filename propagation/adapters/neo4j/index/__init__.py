"""The outbox of the vector index, and points kept in the graph."""
