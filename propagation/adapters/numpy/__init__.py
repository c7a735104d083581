"""The vector index as exact search in memory.

Its points are in the graph's store.
"""
