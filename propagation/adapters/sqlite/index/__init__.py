"""What feeds the vector index: its outbox, and the NumPy index's points."""
