"""The graph store in one SQLite file, a module a port."""
