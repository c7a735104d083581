"""The vector index, which is derived from the graph.

It is written after commits, compared with the graph, and repaired.
"""
