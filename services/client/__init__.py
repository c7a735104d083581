"""A client of the service for the command line, the demo and the benchmarks."""
