"""Protocols: prequential, leave-last-one-out, the whole loop, cold start, one setting varied."""
