"""Analysts' queries of the graph, run from the command line.

They are the files of cypher/inspect/.
"""
