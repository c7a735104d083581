"""Interactions with their log, learned numbers, reasoning and withdrawal."""
