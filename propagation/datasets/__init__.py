"""Datasets in one form: MovieLens, RecBole atomic files, JSON Lines, and the generated town."""
