"""Compiled kernels of the evaluations, and the constants they are compiled with."""
