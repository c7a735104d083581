"""Learning: the log into the numbers, their checkpoints and their rebuilding."""
