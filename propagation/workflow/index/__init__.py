"""The vector index, derived from the graph: written after commits, compared and repaired."""
