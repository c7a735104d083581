"""Analysts' questions to the graph: the files of cypher/inspect/, run from the command line."""
