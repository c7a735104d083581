"""The graph store in one SQLite file, with a room for each port."""
