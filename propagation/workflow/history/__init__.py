"""Traces, past states, and the stream of changes."""
