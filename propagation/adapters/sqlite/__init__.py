"""The graph store in a SQLite file, with one folder per port."""
