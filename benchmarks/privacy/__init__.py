"""Measurements of the things that callers can infer about one user."""
