"""Rounds, messages, routing edges and evolution."""
