"""Preference reception (RecNet 2.3): message buffer, filter memory and merge (eq. 5)."""
