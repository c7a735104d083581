"""Ports of the graph store, one file for each kind of commit."""
