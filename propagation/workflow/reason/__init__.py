"""Stage 1 of Algorithm 1: reason interactions and describe new clients."""
