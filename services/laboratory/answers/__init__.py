"""Answers of a language model, kept in the run's folder."""
