"""Stage 1 of Algorithm 1: interactions are reasoned, and new clients are described."""
