"""Claims, texts, merges and gradients of stage 1."""
