"""The learn commit, and checkpoints of the numbers."""
