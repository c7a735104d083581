"""Ports: what the workflow needs from storage, models, the index and the clock."""
