"""Rounds, the routing table, messages and evolution."""
