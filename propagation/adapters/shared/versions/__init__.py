"""Versions of a client's text: most are stored as differences."""
