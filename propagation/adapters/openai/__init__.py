"""A language model behind any OpenAI-compatible endpoint: reasoner and embedder."""
