"""The vector index as exact search in memory.

The graph store keeps its points.
"""
