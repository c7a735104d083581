"""The vector index's outbox, and the points of the NumPy index."""
