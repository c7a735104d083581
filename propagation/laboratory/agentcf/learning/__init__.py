"""Optimizes the agents on interactions."""
