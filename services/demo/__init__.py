"""`propagation demo`: shows what propagation does.

The demo runs a real service on a temporary database.
"""
