"""Analysts' queries of the graph, run from the command line.

The queries are the files of cypher/inspect/.
"""
