"""Protocols: which targets a method must predict, and among which candidates."""
