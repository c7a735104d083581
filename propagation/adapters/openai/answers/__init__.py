"""Questions to a model, and how its answers are read."""
