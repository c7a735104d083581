"""A deterministic reasoner and embedder without a model.

They need no network and no download.
"""
