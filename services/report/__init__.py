"""`propagation report`: one HTML page about a running service, without scripts or network."""
