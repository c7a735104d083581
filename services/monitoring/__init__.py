"""Metrics, traces and the dashboard; off by default, and then not imported."""
