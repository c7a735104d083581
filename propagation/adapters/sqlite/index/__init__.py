"""Feed of the vector index: its outbox, and the NumPy index's points."""
