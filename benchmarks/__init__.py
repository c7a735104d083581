"""Measurements of every figure that the project claims: `python -m benchmarks`."""
