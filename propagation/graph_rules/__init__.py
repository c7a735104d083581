"""Rules of the graph that every store follows.

Pure functions on model types, without I/O.
"""
