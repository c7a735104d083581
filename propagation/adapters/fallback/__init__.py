"""A reasoner that answers in another one's place."""
