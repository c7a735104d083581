"""`propagation report`: one HTML page about a running service.

The page needs no scripts and no network.
"""
