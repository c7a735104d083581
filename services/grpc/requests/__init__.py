"""Validation of requests, and the opaque tokens of pages and streams."""
