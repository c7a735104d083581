"""`propagation demo`: shows what propagation does.

It runs a real service on a temporary database.
"""
