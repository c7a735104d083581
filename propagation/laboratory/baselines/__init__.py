"""Baselines of maintained libraries, in an environment of their own (score.py)."""
