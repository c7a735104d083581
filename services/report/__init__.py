"""`propagation report`: one HTML page without scripts and without network, about a running service."""
