"""Ranking of all items for a user, in two stages.

An approximate stage comes first, then exact scores.
"""
