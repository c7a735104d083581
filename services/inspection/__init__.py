"""Analysts' queries of the graph: the files of cypher/inspect/, run from the command line."""
