"""A reasoner and an embedder without a model, a network or a download: deterministic."""
