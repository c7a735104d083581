"""The command line `propagation`."""
