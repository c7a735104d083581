"""Stage 2 of Algorithm 1: propagation rounds, and the table of routing policies."""
