"""Datasets in one form.

They come from MovieLens, RecBole atomic files, JSON Lines, and the generated town.
"""
