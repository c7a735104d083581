"""The service's client for the command line, the demo and the benchmarks."""
