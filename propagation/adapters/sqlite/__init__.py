"""The graph store in a SQLite file.

Each kind of work has a folder.
"""
