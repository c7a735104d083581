"""Stage 2 of Algorithm 1: propagation rounds and the routing policies' table."""
