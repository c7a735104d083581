"""The vector index as exact search in memory, its points kept in the graph's file."""
