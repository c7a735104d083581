"""Stage 0 of Algorithm 1: the first routers, and each new epoch."""
