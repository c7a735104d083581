"""Questions to a model and what is made of its answers."""
