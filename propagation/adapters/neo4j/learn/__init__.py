"""Blocks of learned numbers, checkpoints and epochs."""
