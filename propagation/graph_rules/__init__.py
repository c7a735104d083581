"""Rules of the graph that every store follows: pure functions on model types, without I/O."""
