"""Tools of the whole service: errors, clock, console, measurements.

This package imports no other package of `services`.
"""
