"""The vector index as exact search in memory, with its points in the graph's store."""
