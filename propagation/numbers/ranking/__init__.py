"""Ranking of all items for a user: an approximate first stage, then exact scores."""
